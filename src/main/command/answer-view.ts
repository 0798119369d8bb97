/** An answer of `/agy` on the screen. A line that is too long goes on below its own first column, not at the edge. */

import type { Theme } from "@earendil-works/pi-coding-agent";
import { type Component, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { Answer } from "./subcommand.ts";

export type ShownAnswer = {
	readonly command: string;
	readonly text: string;
	readonly level: NonNullable<Answer["level"]>;
};

/** A margin as pi's own messages have it. */
const MARGIN = " ";
/** A label in a column of its own, or the spaces in front. */
const LEAD = /^(\S+( \S+)* {2,}| *)/;

export class AnswerView implements Component {
	readonly #answer: ShownAnswer;
	readonly #theme: Theme;

	constructor(answer: ShownAnswer, theme: Theme) {
		this.#answer = answer;
		this.#theme = theme;
	}

	render(width: number): readonly string[] {
		const { command, text, level } = this.#answer;
		const inner = Math.max(1, width - 2 * MARGIN.length);
		const color = (line: string) => this.#theme.fg(level === "info" ? "toolOutput" : level, line);
		return [
			...wrapTextWithAnsi(this.#theme.fg("toolTitle", this.#theme.bold(command)), inner),
			...text
				.split("\n")
				.flatMap((line) => hang(line, inner))
				.map(color),
		].map((line) => MARGIN + line);
	}

	invalidate(): void {} // Nothing is kept.
}

/** `line` in as many as it takes; those behind the first are indented as its text is, or a little where that is too far. */
export function hang(line: string, width: number): readonly string[] {
	if (visibleWidth(line) <= width) return [line];
	const lead = LEAD.exec(line)?.[0] ?? "";
	const column = visibleWidth(lead) <= width / 2 ? visibleWidth(lead) : 2;
	const [first = "", ...rest] = wrapTextWithAnsi(line, width);
	if (rest.length === 0 || column >= width) return [first, ...rest];
	const tail = line.slice(first.trimEnd().length).trimStart();
	return [first, ...wrapTextWithAnsi(tail, width - column).map((part) => " ".repeat(column) + part)];
}
