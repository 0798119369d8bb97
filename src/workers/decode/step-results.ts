/**
 * What a tool step came to, from the part of its payload that its kind has for itself: a search, a file, a command. agy
 * 1.2.0 and newer wraps every result in the generic kind (140); older ones use a field for each. Pure; nothing throws.
 * Field numbers as published from agy's descriptors (1.0.8 to 1.2.0) and as other readers saw them; unverified where
 * they are marked so.
 */

import type { WireReader } from "./protobuf.ts";

/** Filled in while the payload is read. */
export type StepResult = {
	/** The text of the generic kind, which the model is given. */
	generic: string;
	/** The text of the step's own kind, best source first; null where there is none. */
	readonly texts: [string | null, string | null, string | null];
	/** Why it failed, in the kind's own words; "" when it does not say. */
	error: string;
	/** Of a command; negative when a signal ended it. */
	exitCode: number | null;
	/** The user said no. */
	isRejected: boolean;
};

/** The most of a text that is decoded. pi is shown 50,000 characters of it. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_LIST_ITEMS = 10_000;

function createResult(): StepResult {
	return { generic: "", texts: [null, null, null], error: "", exitCode: null, isRejected: false };
}

/** The text to show: null when the step printed none. */
export function toOutput(result: StepResult | null): string | null {
	if (result === null) return null;
	if (result.generic !== "") return result.generic;
	return result.texts.find((text) => text !== null && text !== "") ?? null;
}

/** Reads the payload's current field, if it is the message of a kind with results; gives the result so far. */
export function readResult(reader: WireReader, before: StepResult | null): StepResult | null {
	const read = READERS[reader.field];
	if (!read || !reader.enter()) return before;
	const result = before ?? createResult();
	read(reader, result);
	reader.leave();
	return result;
}

type ReadKind = (reader: WireReader, result: StepResult) => void;

/** By the payload's field. */
const READERS: Readonly<Record<number, ReadKind>> = {
	10: readCodeAction,
	13: readGrep,
	14: readViewFile,
	15: readListDirectory,
	28: readCommand,
	34: readFind,
	40: readUrl,
	42: readWebSearch,
	47: readMcpTool,
	116: readAgencyCall,
	140: readGeneric,
};

function readGeneric(reader: WireReader, result: StepResult): void {
	while (reader.next()) {
		if (reader.field === 2) result.generic = innerText(reader, 1, result.generic);
	}
}

/** An edit. What changed is in the call's arguments; the layout of its result (10.2) is not published. */
function readCodeAction(reader: WireReader, result: StepResult): void {
	while (reader.next()) {
		if (reader.field === 26) result.texts[0] = outputOf(reader, result.texts[0]);
	}
}

function readGrep(reader: WireReader, result: StepResult): void {
	const hits: string[] = [];
	while (reader.next()) {
		if (reader.field === 3) result.texts[0] = outputOf(reader, result.texts[0]);
		else if (reader.field === 4 && hits.length < MAX_LIST_ITEMS) pushHit(reader, hits);
		else if (reader.field === 5) result.error = reader.text(result.error);
	}
	addList(result, hits);
}

function pushHit(reader: WireReader, hits: string[]): void {
	if (!reader.enter()) return;
	let path = "";
	let line = 0;
	let text = "";
	while (reader.next()) {
		if (reader.field === 1) path = reader.text(path);
		else if (reader.field === 2) line = reader.uint(line);
		else if (reader.field === 3) text = reader.textStart(text, MAX_OUTPUT_BYTES);
		else if (reader.field === 4 && path === "") path = reader.text(path);
	}
	reader.leave();
	hits.push(line > 0 ? `${path}:${line}:${text}` : `${path}:${text}`);
}

function readViewFile(reader: WireReader, result: StepResult): void {
	while (reader.next()) {
		if (reader.field === 4) result.texts[0] = outputOf(reader, result.texts[0]);
		else if (reader.field === 9) result.texts[1] = outputOf(reader, result.texts[1]);
	}
}

function readListDirectory(reader: WireReader, result: StepResult): void {
	const names: string[] = [];
	const entries: string[] = [];
	let isMissing = false;
	while (reader.next()) {
		if (reader.field === 2 && names.length < MAX_LIST_ITEMS) names.push(reader.text(""));
		else if (reader.field === 3 && entries.length < MAX_LIST_ITEMS) pushEntry(reader, entries);
		else if (reader.field === 4) isMissing = reader.bool(isMissing);
	}
	addList(result, entries.length > 0 ? entries : names.filter((name) => name !== ""));
	if (isMissing && result.error === "") result.error = "There is no such directory.";
}

function pushEntry(reader: WireReader, entries: string[]): void {
	if (!reader.enter()) return;
	let name = "";
	let isDirectory = false;
	while (reader.next()) {
		if (reader.field === 1) name = reader.text(name);
		else if (reader.field === 2) isDirectory = reader.bool(isDirectory);
	}
	reader.leave();
	if (name !== "") entries.push(isDirectory ? `${name}/` : name);
}

/** The combined output is a message, not a text; older writers have stdout and stderr as texts of their own. */
function readCommand(reader: WireReader, result: StepResult): void {
	let [out, errorOut, legacyOut, legacyErrorOut] = ["", "", "", ""];
	while (reader.next()) {
		switch (reader.field) {
			case 4:
				legacyOut = outputOf(reader, legacyOut);
				break;
			case 5:
				legacyErrorOut = outputOf(reader, legacyErrorOut);
				break;
			case 6:
				result.exitCode = reader.int32(result.exitCode ?? 0);
				break;
			case 14:
				result.isRejected = reader.bool(result.isRejected);
				break;
			case 19:
				out = innerText(reader, 1, out) || innerText(reader, 2, "");
				break;
			case 20:
				errorOut = innerText(reader, 1, errorOut) || innerText(reader, 2, "");
				break;
			case 21:
				result.texts[0] = innerText(reader, 1, result.texts[0] ?? "") || innerText(reader, 2, "");
				break;
		}
	}
	result.texts[1] = joinOutputs(out, errorOut);
	result.texts[2] = joinOutputs(legacyOut, legacyErrorOut);
}

function readFind(reader: WireReader, result: StepResult): void {
	while (reader.next()) {
		if (reader.field === 11) result.texts[0] = outputOf(reader, result.texts[0]);
		else if (reader.field === 8) result.error = reader.text(result.error);
	}
}

/** Unverified: as one reader saw it. */
function readUrl(reader: WireReader, result: StepResult): void {
	let savedAt = "";
	while (reader.next()) {
		if (reader.field === 6) savedAt = reader.text(savedAt);
		else if (reader.field === 2 && reader.enter()) {
			readDocument(reader, result);
			reader.leave();
		}
	}
	if (savedAt !== "") result.texts[2] = `Saved at ${savedAt}`;
}

function readDocument(reader: WireReader, result: StepResult): void {
	let title = "";
	let description = "";
	while (reader.next()) {
		if (reader.field === 4) title = reader.text(title);
		else if (reader.field === 7) description = outputOf(reader, description);
		else if (reader.field === 6) addInnerTexts(reader, 3, result);
	}
	result.texts[1] = joinOutputs(title, description);
}

function readWebSearch(reader: WireReader, result: StepResult): void {
	while (reader.next()) {
		if (reader.field === 5) result.texts[0] = outputOf(reader, result.texts[0]);
	}
}

function readMcpTool(reader: WireReader, result: StepResult): void {
	while (reader.next()) {
		if (reader.field === 3) result.texts[0] = outputOf(reader, result.texts[0]);
		else if (reader.field === 7) result.isRejected = reader.bool(result.isRejected);
		else if (reader.field === 8) result.texts[1] = outputOf(reader, result.texts[1]);
	}
}

/** Each item is an Any whose value names a tool and holds JSON. */
function readAgencyCall(reader: WireReader, result: StepResult): void {
	while (reader.next()) if (reader.field === 4) addInnerTexts(reader, 2, result);
}

/** Adds field 2 of each message that stands in `field` of the current one. */
function addInnerTexts(reader: WireReader, field: number, result: StepResult): void {
	if (!reader.enter()) return;
	while (reader.next()) {
		if (reader.field === field) result.texts[0] = joinOutputs(result.texts[0] ?? "", innerText(reader, 2, ""));
	}
	reader.leave();
}

function innerText(reader: WireReader, field: number, otherwise: string): string {
	return reader.textIn(field, otherwise, MAX_OUTPUT_BYTES);
}

function outputOf<T extends string | null>(reader: WireReader, otherwise: T): string | T {
	const text = reader.textStart("", MAX_OUTPUT_BYTES);
	return text === "" ? otherwise : text;
}

function addList(result: StepResult, lines: readonly string[]): void {
	if (lines.length > 0) result.texts[1] = lines.join("\n").slice(0, MAX_OUTPUT_BYTES);
}

function joinOutputs(first: string, second: string): string {
	if (first === "" || second === "") return first + second;
	return first.endsWith("\n") ? first + second : `${first}\n${second}`;
}
