/**
 * A run of `agy -p` for the poll suite: writes its conversation database at the pace that the prompt asks for, one commit an
 * event, each stamped with the time after which it is visible, and ends with its own account of what it wrote.
 */

import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { PIECES, resultLine } from "./agy-lines.ts";
import { ConversationWriter } from "./conversation-writer.ts";
import { type Account, type Load, nowUs } from "./load.ts";

const PREAMBLE_CHARS = 64 * 1024;

const [directory, prompt] = process.argv.slice(2);
if (directory === undefined || prompt === undefined) throw new Error("usage: database-source.ts <directory> <prompt>");
const load = JSON.parse(prompt) as Load;
const intervalMs = 1000 / load.eventsPerSecond;
const total = Math.round(load.forMs / intervalMs);
const writer = new ConversationWriter(directory, prompt);
const sha1 = createHash("sha1");
writer.beginAnswer();
// An answer that has been growing for a while: what is read again at each look is long.
const preamble = PIECES.join("")
	.repeat(Math.ceil(PREAMBLE_CHARS / PIECES.join("").length))
	.slice(0, PREAMBLE_CHARS);
writer.grow(preamble);
sha1.update(preamble);

const startMs = performance.now() + Math.random() * intervalMs;
let written = 0;
const writeDue = () => {
	while (written < total && performance.now() >= startMs + written * intervalMs) {
		const text = `@${nowUs()};${PIECES[written % PIECES.length]}`;
		written++;
		sha1.update(text);
		writer.grow(text, written === total);
	}
	if (written < total) setTimeout(writeDue, Math.max(1, startMs + written * intervalMs - performance.now()));
	else finish();
};
writeDue();

function finish(): void {
	const account: Account = { events: written, sha1: sha1.digest("hex") };
	writeSync(1, resultLine(JSON.stringify(account)));
	writer.close();
}
