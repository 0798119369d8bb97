/**
 * A path as it is typed or dragged into a line, which is one argument to its end: a terminal that a file is dropped on
 * types it quoted or with its spaces escaped, and a person writes `~/x`. Read as a shell reads it, but that spaces need no
 * quotes. Pure.
 */

import { posix, win32 } from "node:path";

export type PathPlace = {
	/** What a relative path starts from. */
	readonly cwd: string;
	readonly home: string;
	readonly platform: NodeJS.Platform;
};

/** What a backslash takes its meaning from within double quotes. */
const ESCAPED_IN_QUOTES = /["\\$`]/;

/** An absolute path; "" of nothing. A quote without its pair is a letter of the name, as is a backslash on Windows. */
export function toPath(typed: string, { cwd, home, platform }: PathPlace): string {
	const text = typed.trim();
	if (text === "") return "";
	const path = platform === "win32" ? unquoted(text) : unescaped(text);
	const paths = platform === "win32" ? win32 : posix;
	// Quoted it is a name.
	const isHome = text === "~" || text.startsWith("~/") || (platform === "win32" && text.startsWith("~\\"));
	return isHome ? paths.join(home, path.slice(1)) : paths.resolve(cwd, path);
}

function unescaped(text: string): string {
	let path = "";
	for (let at = 0; at < text.length; at++) {
		const letter = text[at] as string;
		const end = letter === "'" || letter === '"' ? closingQuote(text, at) : -1;
		if (end !== -1) {
			const inner = text.slice(at + 1, end);
			path +=
				letter === "'"
					? inner
					: inner.replace(/\\(.)/gs, (pair, next: string) => (ESCAPED_IN_QUOTES.test(next) ? next : pair));
			at = end;
		} else if (letter === "\\" && at + 1 < text.length) path += text[++at];
		else path += letter;
	}
	return path;
}

/** Where what is quoted from `start` on ends; -1 when it does not. */
function closingQuote(text: string, start: number): number {
	const quote = text[start];
	for (let at = start + 1; at < text.length; at++) {
		if (text[at] === quote) return at;
		if (quote === '"' && text[at] === "\\") at++;
	}
	return -1;
}

function unquoted(text: string): string {
	return /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;
}
