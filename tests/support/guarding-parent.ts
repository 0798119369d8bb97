/**
 * A process that guards others and is then killed, for the guardian's test. Arguments: socket folder, then `pid=start` of
 * each process to guard, or `-pid` to let one go again. Prints a line when it has told its guardian everything.
 */
import { Guardian } from "../../src/main/processes/guardian.ts";

const [socketDir = "", ...entries] = process.argv.slice(2);
const guardian = new Guardian(socketDir);
for (const entry of entries) {
	const [pid = "", startTime = ""] = entry.split("=");
	if (entry.startsWith("-")) guardian.release(-Number(entry));
	else guardian.guard({ pid: Number(pid), startTime });
}
console.log("guarding");
setInterval(() => {}, 1_000);
