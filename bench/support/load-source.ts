/**
 * A child process in place of agy, as fast as a Node program gets: it waits for a prompt with a load on stdin, prints it
 * (load-printer.ts) and ends the turn with its own account of what it printed. It exits when its stdin ends.
 */

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { initLine, resultLine } from "./agy-lines.ts";
import type { Load } from "./load.ts";
import { LoadPrinter } from "./load-printer.ts";

const STDOUT = 1;

const printer = new LoadPrinter();
writeSync(STDOUT, initLine());
const input = createInterface({ input: process.stdin });
input.on("line", (prompt) => {
	const load = JSON.parse(JSON.parse(prompt).message.content) as Load | null;
	if (load) printer.print(load, () => writeSync(STDOUT, resultLine(JSON.stringify(printer.account()))));
});
input.once("close", () => process.exit(0));
