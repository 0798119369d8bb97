/**
 * An assistant's answer as text for a voice: what is meant for the eye is left out (code blocks, marks, addresses, emoji),
 * words stay, and what is too long ends with a sentence. Pure; takes anything.
 */

/** About two minutes of speech: the gist of an answer, and the rest is on the screen. */
export const MAX_SPEECH_CHARS = 2_000;
/** Far more than is ever spoken, code blocks included; bounds the work for what a model may write. */
const MAX_INPUT_CHARS = 100_000;
/** A sentence that ends before this share of the limit is no place to stop. */
const LEAST_SHARE = 0.5;

/** Marks of blocks that may stand before a fence: quotes, bullets, numbers. */
const FENCE = /^((?:[\s>]|[-*+]\s|\d{1,9}[.)]\s)*)(`{3,}(?=[^`]*$)|~{3,})/;
const TABLE_RULE = /^[\s>]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const LINE_RULE = /^\s*(?:([-*_])(?:\s*\1){2,}|=+)\s*$/;
const LINK_DEFINITION = /^\s*\[[^\]]+\]:\s+\S/;
const BLOCK_MARK = /^\s*(?:>|[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s)\s*/;
const TASK_MARK = /^\[[ xX]\]\s+/;
const COMMENT = /<!--[^<]*?-->/g;
/** `(address "title")` behind the text of a link. */
const TARGET = String.raw`\((?:<[^<>]*>|(?:[^()\s]|\([^()]*\))*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)`;
const LINK = new RegExp(String.raw`!?\[([^\[\]]*)\](?:${TARGET}|\[[^\[\]]*\])`, "g");
const URL_TEXT = /\b(?:https?|ftp):\/\/(?:[^\s/?#@]*@)?([^\s/?#:<>()"'|]+)([^\s<>()"'|]*)/gi;
const EMOJI =
	/(?![©®™])\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|[\u200d\ufe0f\u20e3\u{e0020}-\u{e007f}]/gu;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };
/** Stand around the number of a piece that is set aside: no text has a meaning for them. */
const [ASIDE, ASIDE_END] = ["\ue000", "\ue001"];

/** The speakable text, at most `maxChars` characters (UTF-16); "" when nothing is left to say. */
export function toSpeech(markdown: string, maxChars: number = MAX_SPEECH_CHARS): string {
	const source = markdown
		.slice(0, MAX_INPUT_CHARS)
		.toWellFormed()
		.replaceAll(/\r\n?/g, "\n")
		.replaceAll(/[^\S\n]+/g, " ") // Also keeps the patterns below from searching long runs again and again.
		.replaceAll(/[\ue000\ue001]|(?!\n)\p{Cc}/gu, "")
		.replaceAll(COMMENT, "");
	const spoken = toBlocks(withoutFences(source.split("\n")))
		.map(toWords)
		.filter((block) => /[\p{L}\p{N}]/u.test(block))
		.join("\n");
	return cap(spoken, maxChars);
}

/** A fence that nothing closes hides all that follows, as it does on the screen. */
function withoutFences(lines: readonly string[]): readonly string[] {
	let open: { readonly mark: string; readonly isQuoted: boolean } | null = null;
	return lines.map((line) => {
		if (open?.isQuoted && !/^\s*>/.test(line)) open = null; // The quote has ended, and its code with it.
		if (open) {
			const rest: string = line.replace(/^[\s>]+/, "").trimEnd();
			const isClosed: boolean = rest.startsWith(open.mark) && rest.replaceAll(open.mark.charAt(0), "") === "";
			if (isClosed) open = null;
			return "";
		}
		const [, prefix = "", mark] = FENCE.exec(line) ?? [];
		if (mark === undefined) return line;
		open = { mark, isQuoted: prefix.includes(">") };
		return "";
	});
}

/** Paragraphs, list items, headings and rows of tables, each with a pause behind it. */
function toBlocks(lines: readonly string[]): readonly string[] {
	const blocks: string[] = [];
	let paragraph = "";
	const flush = () => {
		if (paragraph !== "") blocks.push(paragraph);
		paragraph = "";
	};
	let isInTable = false;
	for (const [index, line] of lines.entries()) {
		isInTable = isTableRule(line) || (isInTable && line.includes("|"));
		if (line.trim() === "" || isTableRule(line) || LINE_RULE.test(line) || LINK_DEFINITION.test(line)) {
			flush();
			continue;
		}
		isInTable ||= line.includes("|") && isTableRule(lines[index + 1]);
		const content = withoutBlockMarks(line);
		if (isInTable || /^\|.*\|$/.test(content)) {
			flush();
			blocks.push(toRow(content));
		} else if (BLOCK_MARK.test(line) && !/^\s*>/.test(line)) {
			flush();
			paragraph = content;
			if (/^\s*#/.test(line)) flush();
		} else {
			paragraph = paragraph === "" ? content : `${paragraph} ${content}`;
		}
	}
	flush();
	return blocks;
}

/** The line below the first row of a table. */
function isTableRule(line: string | undefined): boolean {
	return line?.includes("|") === true && TABLE_RULE.test(line);
}

function withoutBlockMarks(line: string): string {
	let content = line;
	while (BLOCK_MARK.test(content)) content = content.replace(BLOCK_MARK, "");
	return content
		.replace(TASK_MARK, "")
		.replace(/\s#+\s*$/, "")
		.trim();
}

function toRow(line: string): string {
	return line
		.replaceAll(String.raw`\|`, "\ue001")
		.split("|")
		.map((cell) => cell.replaceAll("\ue001", "|").trim())
		.filter((cell) => cell !== "")
		.join(", ");
}

/** One block without the marks inside lines. Code and escaped characters are set aside meanwhile: their marks are text. */
function toWords(block: string): string {
	const aside: string[] = [];
	const setAside = (text: string) => `${ASIDE}${aside.push(text) - 1}${ASIDE_END}`;
	const marked = block
		.replaceAll(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g, (_all, _ticks: string, code: string) => setAside(code.trim()))
		.replaceAll(/\\([!-/:-@[-`{-~])/g, (_all, char: string) => setAside(char));
	const plain = marked
		.replaceAll(/<((?:https?|ftp):\/\/[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>/gi, "$1")
		.replaceAll(/<br\b[^<>]*>/gi, " ")
		.replaceAll(/<\/?[a-z][^<>]*>/gi, "")
		.replaceAll(COMMENT, "") // One that held tags.
		.replaceAll(LINK, "$1") // An image within a link leaves a link.
		.replaceAll(LINK, "$1")
		.replaceAll(/\[\^[^\]\s]+\]/g, "")
		.replaceAll(URL_TEXT, toHost)
		.replaceAll(/(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|\*{2,3}/g, "")
		.replaceAll(/(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)/g, "")
		.replaceAll("~~", "")
		.replaceAll(/&(amp|lt|gt|quot|apos|nbsp);/g, (_all, name: string) => ENTITIES[name] ?? "");
	const whole = plain.replaceAll(/\ue000(\d+)\ue001/g, (_all, index: string) =>
		(aside[Number(index)] ?? "").replaceAll(URL_TEXT, toHost),
	);
	const words = whole
		.replaceAll(EMOJI, "")
		.replaceAll(/`+|~{2,}/g, "")
		.replaceAll(/\s+/g, " ")
		.trim();
	return /[\p{L}\p{N})"'”’%]$/u.test(words) ? `${words}.` : words;
}

function toHost(_url: string, host: string, rest: string): string {
	const end = /[.,;:!?]+$/.exec(`${host}${rest}`)?.[0] ?? "";
	return `${host.replace(/^www\./i, "").replace(/[.,;!?]+$/, "")}${end}`;
}

function cap(text: string, maxChars: number): string {
	if (text.length <= maxChars) return text;
	const head = text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "");
	const ends = [...head.matchAll(/[.!?…](?=\s)|[。！？]|\n/g)];
	const sentence = ends.at(-1);
	if (sentence && sentence.index >= maxChars * LEAST_SHARE) return head.slice(0, sentence.index + 1).trim();
	const space = /^\s/.test(text.slice(head.length)) ? head.length : head.lastIndexOf(" ");
	return (space > 0 ? head.slice(0, space) : head).trim();
}
