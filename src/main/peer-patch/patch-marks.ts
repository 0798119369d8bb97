/**
 * What versions up to 1.2 of the pi-antigravity-bridge package put into the compiled files of the installed pi (a method
 * `invokeTool`), by which a patched file is known. Pure.
 */

/** It stands in a comment of three of the files. Without it, and without a backup, what looks like the patch may be pi's own. */
export const SIGNATURE = "LOCAL PATCH (pi-antigravity-bridge)";

export type MarkedFile = {
	/** Below pi's dist/, with slashes. */
	readonly file: string;
	/** One of them is enough. */
	readonly marks: readonly string[];
	/** Whether lines were put into it, or all of it was replaced. */
	readonly change: "insertion" | "replacement";
};

export const MARKED_FILES: readonly MarkedFile[] = [
	{
		file: "core/agent-session.js",
		marks: [
			"async invokeTool(name, args = {}, options = {}) {",
			"invokeTool: (name, args, options) => this.invokeTool(name, args, options),",
		],
		change: "insertion",
	},
	{
		file: "core/extensions/runner.js",
		marks: ["this.runtime.invokeTool = actions.invokeTool;", "return this.runtime.invokeTool(name, args, options);"],
		change: "insertion",
	},
	{
		file: "core/extensions/types.d.ts",
		marks: ["invokeTool(name: string, args?: Record<string, unknown>"],
		change: "insertion",
	},
	{
		file: "core/extensions/loader.js",
		marks: ["return runtime.invokeTool(name, args, options);"],
		change: "insertion",
	},
	{ file: "bundle/cli.js", marks: [SIGNATURE], change: "replacement" },
];

/** The patch puts at most some 15 lines into a file. */
const MAX_INSERTED_LINES = 40;
/** What its lines are like: its own names, comments, brackets, and a guard that pi's methods begin with. */
const LIKE_INSERTED =
	/invokeTool|toolCallId|_toolRegistry|LOCAL PATCH|^\s*(\/?\*.*|[{}();,]*|if \(!tool\) \{|((this|runtime)\.)?assertActive\(\);)\s*$/;

export function isMarked({ marks }: MarkedFile, text: string): boolean {
	return text.includes(SIGNATURE) || marks.some((mark) => text.includes(mark));
}

/**
 * Whether `patched` is `original` with a few lines more, all of them such as the patch has. A file that was cut off is not:
 * its lost lines are none of the patch's.
 */
export function isInsertionInto(original: string, patched: string): boolean {
	const [before, after] = [original.split("\n"), patched.split("\n")];
	const inserted = after.length - before.length;
	if (inserted < 1 || inserted > MAX_INSERTED_LINES) return false;
	let matched = 0;
	for (const line of after) if (line === before[matched]) matched++;
	return matched === before.length && linesBeyond(before, after).every((line) => LIKE_INSERTED.test(line));
}

/** The lines of `after` that `before` does not have as often, wherever they stand. */
function linesBeyond(before: readonly string[], after: readonly string[]): readonly string[] {
	const counts = new Map<string, number>();
	for (const line of before) counts.set(line, (counts.get(line) ?? 0) + 1);
	return after.filter((line) => {
		const count = counts.get(line) ?? 0;
		counts.set(line, count - 1);
		return count <= 0;
	});
}

/** The files beside it that a start file of pi's loads, as it names them; empty when it is no such file. */
export function loadedBy(startFile: string): readonly string[] {
	if (!startFile.startsWith("#!/usr/bin/env node\n")) return [];
	return [...startFile.matchAll(/["'](\.\.?\/[\w./-]+)["']/g)].flatMap(([, name]) => name ?? []);
}
