/**
 * What agy's edits changed. Its output does not carry the text of an edit, so the file is read before and after. One
 * object serves one turn. The content before an edit is, in this order:
 *
 * 1. what the turn's last edit of the file left;
 * 2. what stood there when the step was first seen;
 * 3. where the edit was faster than that look: what git had, if the file did not differ from it when the turn began; and
 *    nothing, if the file was made within the turn.
 *
 * Never throws: what cannot be known is said in the summary.
 */

import { stat } from "node:fs/promises";
import { isAbsolute, relative } from "node:path";
import { generateDiffString } from "@earendil-works/pi-coding-agent";
import type { ToolEvent } from "../../shared/events.ts";
import { type FileContent, readContent } from "./file-content.ts";
import type { GitHead } from "./git-head.ts";
import { toPath } from "./native-tools.ts";

/** agy's tools that write a file, and names of them in other versions. */
const EDIT_TOOLS: ReadonlySet<string> = new Set([
	"write_to_file",
	"replace_file_content",
	"multi_replace_file_content",
	"create_file",
	"edit_file",
	"delete_file",
]);
const FILE_ARGUMENTS: ReadonlySet<string> = new Set(["targetfile", "absolutepath", "filepath", "path", "file"]);

/** A diff of 400 changed lines against 400 takes some 50 ms of pi's thread; above that the lines are counted. */
const MAX_REWRITTEN_LINES = 400;
/** The same where lines were only added, or only removed. */
const MAX_CHANGED_LINES = 5_000;
/** The most of a diff that a card carries into pi's transcript. */
const DIFF_CHARS = 50_000;

/** `diff` is in pi's form (`generateDiffString`); null when there is none to show. */
export type EditView = { readonly summary: string; readonly diff: string | null };

/** The last known content of a file, and whether an edit of this turn left it. */
type Known = { readonly content: Promise<FileContent>; readonly isLeft: boolean };

export type EditDiffsOptions = {
	/** Where agy works. */
	readonly cwd: string;
	readonly head: Pick<GitHead, "contentOf">;
	/** When the turn began, in milliseconds since 1970. */
	readonly startedMs: number;
};

/** The file that a step writes; null when it is no edit. */
export function editedFile(event: ToolEvent, cwd: string): string | null {
	if (!EDIT_TOOLS.has(event.name)) return null;
	const [, value] =
		Object.entries(event.args).find(([name]) => FILE_ARGUMENTS.has(name.toLowerCase().replaceAll("_", ""))) ?? [];
	return toPath(value, cwd);
}

export class EditDiffs {
	readonly #options: EditDiffsOptions;
	readonly #files = new Map<string, Known>();

	constructor(options: EditDiffsOptions) {
		this.#options = options;
	}

	/** An edit of the file is under way. Resolves when what stands there is known. */
	async seen(path: string): Promise<void> {
		await this.#know(path).content;
	}

	/** The edit has ended well. */
	ended(path: string): Promise<EditView> {
		const before = this.#know(path);
		const content = before.content.then(() => readContent(path));
		this.#files.set(path, { content, isLeft: true });
		return this.#compare(path, before, content);
	}

	#know(path: string): Known {
		const known = this.#files.get(path) ?? { content: readContent(path), isLeft: false };
		this.#files.set(path, known);
		return known;
	}

	async #compare(path: string, known: Known, reading: Promise<FileContent>): Promise<EditView> {
		const [seen, after] = await Promise.all([known.content, reading]);
		const name = this.#nameOf(path);
		const before = known.isLeft || !isSame(seen, after) ? seen : await this.#earlierContent(path, after);
		if (known.isLeft && isSame(before ?? seen, after)) {
			// Edits that follow each other within milliseconds: the look after the first has found both.
			return { summary: `${name}: no change beyond the diff of the edit before.`, diff: null };
		}
		if (before !== null) return describe(name, before, after);
		return { summary: `${name}: what stood there before the edit is not known, so there is no diff.`, diff: null };
	}

	/** The content before, when the look before and the look after the edit found the same; null when it is not known. */
	async #earlierContent(path: string, after: FileContent): Promise<FileContent | null> {
		const { head, startedMs } = this.#options;
		if (!("changedMs" in after) || after.changedMs < startedMs) return after; // Nobody has written it in this turn.
		const committed = await head.contentOf(path);
		if (committed !== null) return { kind: "text", text: committed, changedMs: 0 };
		const bornMs = await stat(path).then(
			({ birthtimeMs }) => birthtimeMs,
			() => 0, // Gone by now.
		);
		return bornMs >= startedMs ? { kind: "missing" } : null;
	}

	#nameOf(path: string): string {
		const name = relative(this.#options.cwd, path);
		return name === "" || name.startsWith("..") || isAbsolute(name) ? path : name;
	}
}

function isSame(a: FileContent, b: FileContent): boolean {
	if (a.kind === "text" && b.kind === "text") return a.text === b.text;
	return JSON.stringify(a) === JSON.stringify(b);
}

function describe(name: string, before: FileContent, after: FileContent): EditView {
	const only = (summary: string): EditView => ({ summary: `${name}: ${summary}`, diff: null });
	if (after.kind === "unreadable") return only(`cannot be read, so there is no diff (${after.reason}).`);
	if (before.kind === "unreadable") return only(`could not be read before (${before.reason}), so there is no diff.`);
	if (isSame(before, after)) return only(after.kind === "missing" ? "there is no such file." : "unchanged.");
	const isText = (content: FileContent) => content.kind === "text" || content.kind === "missing";
	if (!isText(before) || !isText(after)) {
		const what = before.kind === "binary" || after.kind === "binary" ? "binary" : "too large for a diff";
		return only(`${what}, ${sizeOf(before)} before, ${sizeOf(after)} now.`);
	}
	const [old, now] = [toText(before), toText(after)];
	if (old === now && before.kind === after.kind) return only("only line ends changed.");
	const what = before.kind === "missing" ? "new file, " : after.kind === "missing" ? "deleted, " : "";
	const changed = countChanged(old, now);
	const isTooMuch =
		Math.min(changed.removed, changed.added) > MAX_REWRITTEN_LINES ||
		Math.max(changed.removed, changed.added) > MAX_CHANGED_LINES;
	if (isTooMuch) {
		return only(`${what}${changed.removed} lines became ${changed.added}: too many for a diff.`);
	}
	const { diff } = generateDiffString(old, now);
	const marks = diff.split("\n").map((line) => line[0]);
	const [added, removed] = ["+", "-"].map((mark) => marks.filter((other) => other === mark).length);
	return { summary: `${name}: ${what}${added} added, ${removed} removed (lines).`, diff: shorten(diff) };
}

/** With plain line ends: what differs in them alone is no change of a line. */
function toText(content: FileContent): string {
	return content.kind === "text" ? content.text.replaceAll("\r\n", "\n") : "";
}

/** Lines between what both begin with and what both end with. */
function countChanged(old: string, now: string): { readonly removed: number; readonly added: number } {
	const [a, b] = [old.split("\n"), now.split("\n")];
	const shorter = Math.min(a.length, b.length);
	let head = 0;
	while (head < shorter && a[head] === b[head]) head++;
	let tail = 0;
	while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const middle = (lines: readonly string[]) => lines.length - head - tail;
	return { removed: middle(a), added: middle(b) };
}

function sizeOf(content: FileContent): string {
	if (content.kind === "missing") return "no file";
	const bytes =
		content.kind === "text" ? Buffer.byteLength(content.text) : content.kind === "unreadable" ? 0 : content.sizeBytes;
	return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}

function shorten(diff: string): string {
	if (diff.length <= DIFF_CHARS) return diff;
	const kept = diff.slice(0, diff.lastIndexOf("\n", DIFF_CHARS));
	const left = diff.slice(kept.length + 1).split("\n").length;
	return `${kept}\n     ... ${left} more lines are not shown`;
}
