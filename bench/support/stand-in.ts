/**
 * A fast stand-in for agy under a real pi: it says who it is, and answers a prompt that names a task (stand-in-task.ts) with
 * the load that the task asks for, any other prompt at once. It exits when its stdin ends. The account of a load goes into
 * the file that the task names: pi keeps nothing of a result but its text.
 */

import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { answerEndLine, initLine, resultLine, userLine } from "./agy-lines.ts";
import { LoadPrinter } from "./load-printer.ts";
import { LAST_PROMPT, parseTask } from "./stand-in-task.ts";

const STDOUT = 1;
/** How often it is looked for the sign to begin. */
const GO_INTERVAL_MS = 50;

const conversationId = randomUUID();
writeSync(STDOUT, initLine(conversationId));
const input = createInterface({ input: process.stdin });
input.on("line", (prompt) => {
	const { content } = JSON.parse(prompt).message;
	const task = parseTask(content);
	const printer = new LoadPrinter({ conversationId });
	writeSync(STDOUT, userLine(conversationId));
	printer.say("Ready.");
	const finish = () => {
		if (task) writeFileSync(task.accountPath, JSON.stringify(printer.account()));
		writeSync(STDOUT, answerEndLine(1, conversationId));
		writeSync(STDOUT, resultLine("Ready.", conversationId));
		if (content.includes(LAST_PROMPT)) process.exit(0);
	};
	if (!task) {
		finish();
		return;
	}
	const timer = setInterval(() => {
		if (!existsSync(task.goPath)) return;
		clearInterval(timer);
		printer.print(task.load, finish);
	}, GO_INTERVAL_MS);
});
input.once("close", () => process.exit(0));
