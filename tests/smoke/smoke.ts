/**
 * `npm run smoke`: a short set of turns on a real, signed-in agy, compared by shape with what the simulator sends. It costs a little of
 * the account's quota. Exit code: 0 without a difference, 1 with some, 2 when it could not be run.
 */
import { findAgy } from "../start/agy.mjs";
import { SIMULATOR, smoke, toTable } from "./run.ts";

const USAGE = "usage: npm run smoke [-- --simulator <scenario file>]";

process.exitCode = await main(process.argv.slice(2), process.env).catch((error: Error) => {
	console.error(error.message);
	return 2;
});

async function main(args: readonly string[], variables: NodeJS.ProcessEnv): Promise<number> {
	const [flag, scenario, ...rest] = args;
	if (rest.length > 0 || (flag !== undefined && (flag !== "--simulator" || scenario === undefined)))
		throw new Error(USAGE);
	const env = Object.fromEntries(Object.entries(variables).flatMap(([name, value]) => (value ? [[name, value]] : [])));
	if (scenario === undefined) {
		const agy = await findAgy(variables, { cwd: process.cwd(), simulator: SIMULATOR });
		if (!agy.usable) throw new Error(`The smoke run needs a real agy: ${agy.reason}. ${agy.remedy}`);
		env.AGY_BIN = agy.path;
		console.log(`${agy.path} is asked a few short questions in an empty folder; its conversation stays with agy.`);
	}
	const { path, differences } = await smoke({ env, ...(scenario !== undefined && { scenario }), say: console.log });
	if (differences.length === 0) console.log("No difference.");
	else for (const line of toTable(differences)) console.log(line);
	console.log(`The report holds shapes and no content: ${path}`);
	return differences.length === 0 ? 0 : 1;
}
