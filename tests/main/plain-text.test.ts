/** Nothing that steers a terminal comes through. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { toPlainText } from "../../src/main/plain-text.ts";

test.each([
	["plain words", "two lines\n\tand a tab", "two lines\n\tand a tab"],
	["colours", "\u001b[31mred\u001b[0m", "red"],
	["a sequence within a sequence", "\u001b\u001b[0m]0;title\u0007", "]0;title"],
	["a lone escape and a bell", "a\u001bb\u0007c", "abc"],
	["8-bit sequences", "a\u009d0;title\u009cb", "a0;titleb"],
	["an application's command", "\u001b_Gx\u001b\\y", "_Gx\\y"],
	["text that is turned around", "a \u202egnp.exe\u2069 b", "a gnp.exe b"],
	["letters that are joined", "\u{1f469}\u200d\u{1f4bb}", "\u{1f469}\u200d\u{1f4bb}"],
	["Windows line ends", "one\r\ntwo", "one\ntwo"],
])("%s", (_what, text, plain) => {
	expect(toPlainText(text)).toBe(plain);
});

test("whatever it is given, no control character but tab and line feed is left", () => {
	const parts = fc.constantFrom("\u001b", "\u001b[0m", "]0;", "\u0007", "\u009d", "\u009c", "a", "\n", "\u001b_", "\\");
	fc.assert(
		fc.property(fc.array(parts, { maxLength: 12 }), (pieces) => {
			const left = [...toPlainText(pieces.join(""))].filter((letter) => {
				const code = letter.codePointAt(0) ?? 0;
				return (code < 0x20 && letter !== "\n" && letter !== "\t") || (code >= 0x7f && code <= 0x9f);
			});
			expect(left).toEqual([]);
		}),
	);
});
