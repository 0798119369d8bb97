/**
 * Runs in a process of its own under a low limit of descriptors: takes all of them, looks at itself, and prints what came of
 * it as JSON, in ms: once while descriptors come back, once while they do not.
 */
import { closeSync, openSync } from "node:fs";
import { identify } from "../../src/main/processes/proof.ts";

await identify(process.pid); // What loads a module needs a descriptor.
const taken = takeAll();
const patient = look();
setTimeout(() => closeSync(taken.pop() as number), 100);
const found = await patient;
taken.push(openSync("/dev/null", "r"));
const refused = await look();
for (const descriptor of taken) closeSync(descriptor);
console.log(JSON.stringify({ found, refused }));

async function look(): Promise<{ readonly pid: number | null; readonly problem: string; readonly ms: number }> {
	const startMs = performance.now();
	const ms = () => performance.now() - startMs;
	try {
		return { pid: (await identify(process.pid))?.pid ?? null, problem: "", ms: ms() };
	} catch (error) {
		return { pid: null, problem: (error as Error).message, ms: ms() };
	}
}

function takeAll(): number[] {
	const descriptors: number[] = [];
	try {
		for (;;) descriptors.push(openSync("/dev/null", "r"));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EMFILE") throw error;
		return descriptors;
	}
}
