/** Somebody else's text on its way to a screen or an editor: nothing in it may steer the terminal. Pure. */

import { stripVTControlCharacters } from "node:util";

/** What turns the direction of the text behind it, so that it reads as something else (Unicode's bidirectional controls). */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Without control sequences, and without any control character but tab and line feed: taking sequences out can leave some. */
export function toPlainText(text: string): string {
	const lines = stripVTControlCharacters(text).replaceAll("\r\n", "\n").replaceAll(TURNING, "");
	return lines.replaceAll(/\p{Cc}/gu, (letter) => (letter === "\n" || letter === "\t" ? letter : ""));
}
