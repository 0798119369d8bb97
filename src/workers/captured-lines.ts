/**
 * Takes credentials out of captured lines and leaves them parseable: a line of JSON is redacted string by string. A secret
 * that agy streamed in pieces is found in the pieces put together. Pure.
 */

import type { CaptureEntry } from "../shared/capture.ts";
import { redact } from "../shared/redact.ts";

type Fields = { [key: string]: unknown };

/** Keys whose value is a secret whatever it looks like. */
const SECRET_KEY = /(token|secret|password|passphrase|api_?key|credential|authorization|cookie)$/i;
/** Deeper values are left out: nothing that a person would look for is there. */
const MAX_DEPTH = 100;

export function redactEntries(entries: readonly CaptureEntry[]): readonly CaptureEntry[] {
	return mergeSecretPieces(entries).map((entry) => ({ ...entry, line: redactLine(entry.line) }));
}

/** The pieces of one answer whose whole holds a secret: the first piece gets the redacted whole, the others nothing. */
function mergeSecretPieces(entries: readonly CaptureEntry[]): readonly CaptureEntry[] {
	const result = [...entries];
	let run: { readonly index: number; readonly line: Fields; readonly step: Fields }[] = [];
	const endRun = () => {
		const whole = run.map(({ step }) => step.text_delta).join("");
		const redacted = redact(whole);
		for (const [position, { index, line, step }] of run.entries()) {
			if (redacted === whole) break;
			const piece = { ...step, text_delta: position === 0 ? redacted : "" };
			result[index] = { ...(entries[index] as CaptureEntry), line: JSON.stringify({ ...line, step_update: piece }) };
		}
		run = [];
	};
	for (const [index, entry] of entries.entries()) {
		if (entry.dir !== "out") continue;
		const line = toFields(parse(entry.line));
		const step = toFields(line?.step_update);
		const isPiece = line !== null && step !== null && typeof step.text_delta === "string";
		if (!isPiece || (run[0] && run[0].step.step_index !== step.step_index)) endRun();
		if (isPiece) run.push({ index, line, step });
	}
	endRun();
	return result;
}

function redactLine(line: string): string {
	const value = parse(line);
	return value === undefined ? redact(line) : JSON.stringify(redactValue(value, 0));
}

function redactValue(value: unknown, depth: number): unknown {
	if (typeof value === "string") return redact(value);
	if (typeof value !== "object" || value === null) return value;
	if (depth === MAX_DEPTH) return "…";
	if (Array.isArray(value)) return value.map((entry) => redactValue(entry, depth + 1));
	return Object.fromEntries(
		Object.entries(value).map(([key, entry]) => [
			key,
			typeof entry === "string" && SECRET_KEY.test(key) ? "[secret]" : redactValue(entry, depth + 1),
		]),
	);
}

function parse(line: string): unknown {
	try {
		return JSON.parse(line) as unknown;
	} catch {
		return undefined; // Not JSON: redacted as text.
	}
}

function toFields(value: unknown): Fields | null {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}
