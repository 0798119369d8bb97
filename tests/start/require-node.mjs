// Stops a start script with one clear line when the Node that runs it is too old for the script itself.
// Import it first. Such a Node has to load this file, so it uses old syntax and no imports.

/** What the start scripts themselves need; everything else runs under the Node they install. */
const SCRIPT_NODE = "20.0.0";
/** What pi and the extension need. */
const PROJECT_NODE = "22.19.0";

/**
 * Whether version `found` is older than `needed`, both "major.minor.patch".
 * @param {string} found
 * @param {string} needed
 */
export function isOlder(found, needed) {
	const left = found.split(".").map(Number);
	const right = needed.split(".").map(Number);
	for (let i = 0; i < 3; i++) {
		const difference = (left[i] || 0) - (right[i] || 0);
		if (difference !== 0) return difference < 0;
	}
	return false;
}

/**
 * The line to print when `found` is too old to run a start script, or undefined.
 * @param {string} found
 */
export function scriptNodeProblem(found) {
	if (!isOlder(found, SCRIPT_NODE)) return undefined;
	return `pi-agy: Node ${found} is too old: the start scripts need Node 20 or newer and bring Node 24 themselves.`;
}

/**
 * The line to print when `found` is too old to run the project's own code, or undefined.
 * @param {string} found
 */
export function projectNodeProblem(found) {
	if (!isOlder(found, PROJECT_NODE)) return undefined;
	return `pi-agy: Node ${found} is too old, 22.19 or newer is needed: use npm start or npm test, which bring Node 24.`;
}

const problem = scriptNodeProblem(process.versions.node);
if (problem !== undefined) {
	console.error(problem);
	process.exit(1);
}
