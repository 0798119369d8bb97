/**
 * Bytes of agy's stdout -> events, in one thread: StreamJsonDecoder against a split and a JSON.parse per line. The
 * control does less, for it maps nothing. Each call of a task is one tick: what the decoder is given at once.
 */

import { deepStrictEqual } from "node:assert/strict";
import type { AgyEvent } from "../src/shared/events.ts";
import { MAX_LINE_BYTES } from "../src/shared/limits.ts";
import { StreamJsonDecoder } from "../src/workers/decode/stream-json-decoder.ts";
import { deltaLine, deltaLines, toolLine, turnLines } from "./support/agy-lines.ts";
import { LineParser, mapLine } from "./support/control.ts";
import { type MicroResult, measureTasks } from "./support/micro.ts";
import type { BenchCase, CaseResult, Row, Suite } from "./support/suite.ts";

/** The reads of one tick. */
type Tick = readonly Buffer[];

const CHUNK_BYTES = 64 * 1024;
const LONG_LINE_BYTES = 8 * 1024 * 1024;

export const decodeSuite: Suite = {
	name: "decode",
	cases: [
		// A stream at human speed: each read holds one line.
		decodeCase("short-lines", () => [deltaLines(64).map((line) => Buffer.from(line))]),
		// A stream that is ahead: full reads, cut anywhere.
		decodeCase("chunk-64k", () => chunksOf(deltaLines(2_600).join("")).map((chunk) => [chunk])),
		// Text in which hardly a piece is free of escapes or within ASCII.
		decodeCase("escaped-text", () => [chunksOf(Array.from({ length: 300 }, escapedLine).join(""))]),
		// Whole turns: init, steps, text, tools with output, usage, result.
		decodeCase("mixed-turn", () => [chunksOf(turnLines().join(""))]),
		decodeCase("line-8m", () => [chunksOf(toolLine(2, "all work and no play\r\n".repeat(LONG_LINE_BYTES / 24)))]),
	],
};

function decodeCase(name: string, makeTicks: () => readonly Tick[]): BenchCase {
	return { name, run: (isShort) => measureDecode(makeTicks(), isShort) };
}

async function measureDecode(ticks: readonly Tick[], isShort: boolean): Promise<CaseResult> {
	const { lines, events } = verifySame(ticks);
	const decoder = new StreamJsonDecoder({ event: () => {}, reject: failOnReject }, MAX_LINE_BYTES);
	const parser = new LineParser(() => {});
	const [ours, control] = await measureTasks(
		[
			{ name: "decoder", run: cycle(ticks, (chunk) => decoder.push(chunk)) },
			{ name: "control", run: cycle(ticks, (chunk) => parser.push(chunk)) },
		],
		isShort,
	);
	if (!ours || !control) throw new Error("tinybench lost a task");
	const linesPerTick = lines / ticks.length;
	return {
		rows: [...rowsOf("decoder", ours, linesPerTick), ...rowsOf("split + JSON.parse", control, linesPerTick)],
		ratios: { speed: control.tickMs.p50 / ours.tickMs.p50, cpu: control.cpuUs / ours.cpuUs },
		notes: [
			`${linesPerTick.toFixed(1)} lines a tick, ${events} equal events on both sides; ` +
				`${perSecond(ours, linesPerTick)} lines/s against ${perSecond(control, linesPerTick)}`,
		],
	};
}

function rowsOf(side: string, { tickMs, cpuUs }: MicroResult, linesPerTick: number): readonly Row[] {
	const { p50, p75, p99, samples } = tickMs;
	const cpu = cpuUs / linesPerTick;
	return [
		{ measure: "tick", side, unit: "us", spread: { p50: p50 * 1000, p75: p75 * 1000, p99: p99 * 1000, samples } },
		{ measure: "CPU a line, whole run", side, unit: "us", spread: { p50: cpu, p75: cpu, p99: cpu, samples: 1 } },
	];
}

function perSecond({ tickMs }: MicroResult, linesPerTick: number): string {
	return Math.round((linesPerTick / tickMs.p50) * 1000).toLocaleString("en");
}

/** Goes round the ticks, one a call. */
function cycle(ticks: readonly Tick[], push: (chunk: Buffer) => void): () => void {
	let next = 0;
	return () => {
		for (const chunk of ticks[next] ?? []) push(chunk);
		next = (next + 1) % ticks.length;
	};
}

/** Throws when the two sides do not see the same events, in the same order. */
function verifySame(ticks: readonly Tick[]): { readonly lines: number; readonly events: number } {
	const decoded: AgyEvent[] = [];
	const mapped: AgyEvent[] = [];
	let lines = 0;
	const decoder = new StreamJsonDecoder(
		{ event: (event) => decoded.push(event), reject: failOnReject },
		MAX_LINE_BYTES,
	);
	const parser = new LineParser((line) => {
		lines++;
		mapLine(line, (event) => mapped.push(event));
	});
	for (const chunk of ticks.flat()) {
		decoder.push(chunk);
		parser.push(chunk);
	}
	deepStrictEqual(decoded, mapped);
	return { lines, events: decoded.length };
}

function failOnReject(reason: string, _byteLength: number, sample: string): never {
	throw new Error(`the decoder rejected a line: ${reason}: ${sample}`);
}

function chunksOf(text: string): readonly Buffer[] {
	const bytes = Buffer.from(text);
	return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) =>
		bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
	);
}

function escapedLine(_: unknown, index: number): string {
	return deltaLine(index % 2 === 0 ? `\tif (a) "b${index}"\n` : `größer als ${index} – naïve`);
}
