/** Somebody else's text on its way to a screen or an editor: nothing in it may steer the terminal. Pure. */

import { stripVTControlCharacters } from "node:util";

/** Without control sequences, and without any control character but tab and line feed: taking sequences out can leave some. */
export function toPlainText(text: string): string {
	const lines = stripVTControlCharacters(text).replaceAll("\r\n", "\n");
	return lines.replaceAll(/\p{Cc}/gu, (letter) => (letter === "\n" || letter === "\t" ? letter : ""));
}
