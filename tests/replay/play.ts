/**
 * Plays a captured turn again, offline: its lines go through the decoder, a turn and the stream of pi's messages as they did
 * when agy printed them. What pi would have shown, and the verdict, come out as lines of text.
 */

import type { Exit } from "../../src/main/processes/piped-process.ts";
import { CAPTURE_FORMAT, type CaptureEnd, type CaptureEntry, type CaptureHead } from "../../src/shared/capture.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { MAX_LINE_BYTES } from "../../src/shared/limits.ts";
import { StreamJsonDecoder } from "../../src/workers/decode/stream-json-decoder.ts";
import type { PiMessage } from "../support/pi-message.ts";
import { TurnStage } from "../support/turn-stage.ts";

type Captured = { readonly entries: readonly CaptureEntry[]; readonly end: CaptureEnd["end"] };

/** Throws for a text that is no capture. */
export async function play(source: string): Promise<readonly string[]> {
	const { entries, end } = toCaptured(source);
	const stage = new TurnStage();
	const unknown: string[] = [];
	const feed = makeFeed(stage, unknown);
	for (const entry of entries) {
		feed(entry);
		await goOn(stage);
	}
	if (end.status === null)
		stage.link.end({ exit: (end.exit ?? { code: null, signal: null }) as Exit, laneError: null });
	await goOn(stage);
	const verdict = stage.ends[0]?.verdict;
	if (!verdict) stage.turn.abort(); // Its timers would keep this process alive.
	return [
		...entries.filter(({ dir }) => dir === "in").map(({ line }) => `> ${promptOf(line)}`),
		...stage.messages.flatMap(renderMessage),
		...unknown.map((name) => `(unknown: ${name})`),
		...(end.droppedLines === 0 ? [] : [`(${end.droppedLines} lines were too many to be captured)`]),
		verdict
			? `verdict: ${[verdict.kind, verdict.summary].filter((text) => text !== "").join(": ")}`
			: "verdict: none, the capture ends before the turn",
	];
}

function toCaptured(source: string): Captured {
	const [head, ...rest] = source.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown]));
	if ((head as CaptureHead | undefined)?.capture !== CAPTURE_FORMAT)
		throw new Error("This is no captured turn of this version of pi-agy.");
	const end = (rest.at(-1) as Partial<CaptureEnd> | undefined)?.end;
	const entries = (end ? rest.slice(0, -1) : rest) as readonly CaptureEntry[];
	return { entries, end: end ?? { status: "", exit: null, droppedLines: 0 } };
}

/** Gives the turn each line as its lane would. */
function makeFeed({ link }: TurnStage, unknown: string[]): (entry: CaptureEntry) => void {
	let events: AgyEvent[] = [];
	const decoder = new StreamJsonDecoder(
		{
			event: (event) => {
				events.push(event);
				if (event.kind === "unknown") unknown.push(`${event.what} ${event.name}`);
			},
			reject: (reason, byteLength, sample) =>
				link.send({ kind: "lines-rejected", link: 1, count: 1, byteLength, reason, sample }),
			drift: (what, name) => unknown.push(`${what} ${name}`),
		},
		MAX_LINE_BYTES,
	);
	return ({ dir, line }) => {
		if (dir === "err") link.stderrTail += `${line}\n`;
		if (dir === "err") link.send({ kind: "stderr", link: 1, text: `${line}\n` });
		if (dir !== "out") return;
		decoder.push(Buffer.from(`${line}\n`));
		if (events.length > 0) link.print(...events);
		events = [];
	};
}

/** pi runs what it is given and asks for more. */
async function goOn(stage: TurnStage): Promise<void> {
	await stage.pass();
	while (stage.turn.isParked && (await stage.runCalls())) {
		stage.resume();
		await stage.pass();
	}
}

/** Its blocks in order; of a message that did not end there is nothing that pi would keep. */
function renderMessage({ end }: PiMessage): readonly string[] {
	const blocks = (end?.content ?? []).map((block) => {
		if (block.type === "text") return block.text;
		if (block.type === "thinking") return `[thinking] ${block.thinking}`;
		return `[call] ${block.name} ${JSON.stringify(block.arguments)}`;
	});
	return [...blocks, ...(end?.errorMessage ? [`[error] ${end.errorMessage}`] : [])];
}

function promptOf(line: string): string {
	try {
		return String((JSON.parse(line) as { message?: { content?: unknown } }).message?.content ?? line);
	} catch {
		return line; // Given in another form.
	}
}
