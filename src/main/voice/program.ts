/** A program of the user's, named in the settings: what stands in for the words in braces, and why it failed in a sentence. */

import type { CommandResult } from "../processes/run.ts";
import { endOf, excerptOf } from "./excerpt.ts";

/** Replaces each `{name}` in the arguments; the program itself stays as it is. */
export function fillIn(
	command: readonly string[],
	values: Readonly<Record<string, string>>,
): { readonly bin: string; readonly args: readonly string[] } {
	const [bin = "", ...args] = command;
	const fill = (arg: string) => arg.replaceAll(/\{(\w+)\}/g, (mark, name: string) => values[name] ?? mark);
	return { bin, args: args.map(fill) };
}

/** Whether an argument holds `{name}`. */
export function hasMark(command: readonly string[], name: string): boolean {
	return command.slice(1).some((arg) => arg.includes(`{${name}}`));
}

/** Without a full stop; null when it ended well. Arguments are left out, they may hold anything. */
export function programProblem(bin: string, result: CommandResult): string | null {
	if (result.ok) {
		if (result.code === 0) return null;
		const said = endOf(result.stderr);
		const end = result.code === null ? "was ended by a signal" : `ended with code ${result.code}`;
		return `${bin} ${end}${said === "" ? "" : `: ${withoutStop(said)}`}`;
	}
	switch ((result.error as NodeJS.ErrnoException).code) {
		case "ENOENT":
			return `${bin} was not found`;
		case "EACCES":
			return `${bin} may not be run`;
		default:
			return `${bin} failed: ${withoutStop(excerptOf(result.error.message))}`;
	}
}

function withoutStop(text: string): string {
	return text.replace(/\.$/, "");
}
