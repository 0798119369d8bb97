/**
 * Changes to the text of agy's mcp_config.json: text in, text out, no file. The file belongs to the user, who may have
 * comments, trailing commas and an order of his own in it. So nothing is formatted anew: an entry of ours is put in front
 * of the others, with the comma it needs, and taking it out again gives back the text as it was, byte for byte. A text
 * that is not understood as a whole is not changed at all. The only file that imports jsonc-parser.
 */

import { getNodeValue, type Node, type ParseError, parseTree, visit } from "jsonc-parser";
import type { JsonObject } from "../../shared/events.ts";

/** What had to be made before there was a place for an entry: it goes with the last entry of ours. */
export type Made = "file" | "document" | "servers";

type Property = { readonly key: string; readonly value: Node; readonly offset: number; readonly end: number };
type ObjectNode = { readonly offset: number; readonly end: number; readonly properties: readonly Property[] };
type Parsed = { readonly root: ObjectNode; readonly servers: ObjectNode | null };
type Edit = { readonly offset: number; readonly end: number; readonly content: string };

const SERVERS = "mcpServers";
const SKELETON = `{\n\t"${SERVERS}": {}\n}\n`;
const BYTE_ORDER_MARK = "\uFEFF";
const BLANK = /^\uFEFF?[ \t\r\n]*$/;
const PARSE_OPTIONS = { allowTrailingComma: true } as const;

/** The names of all servers in the text; null is no file. Throws an Error that says what is wrong with the text. */
export function serverNamesIn(text: string | null): readonly string[] {
	if (text === null || BLANK.test(text)) return [];
	return parse(text).servers?.properties.map((property) => property.key) ?? [];
}

/** The text with the server in it, which replaces one of the same name. Throws as `serverNamesIn`. */
export function withServer(
	text: string | null,
	name: string,
	server: JsonObject,
): { readonly text: string; readonly made: Made | null } {
	if (text === null) return { text: withServer(SKELETON, name, server).text, made: "file" };
	if (BLANK.test(text)) return { text: text + withServer(SKELETON, name, server).text, made: "document" };
	const { root, servers } = parse(text);
	if (!servers) {
		const prepared = apply(text, [insertFirst(text, root, SERVERS, "{}")]);
		return { text: withServer(prepared, name, server).text, made: "servers" };
	}
	const content = JSON.stringify(server);
	const present = servers.properties.find((property) => property.key === name);
	const edit = present ? replaceValue(present, content) : insertFirst(text, servers, name, content);
	return { text: apply(text, [edit]), made: null };
}

/** The text without the server; as it was when there is none of that name. Throws as `serverNamesIn`. */
export function withoutServer(text: string, name: string): string {
	const { servers } = parse(text);
	const index = servers?.properties.findIndex((property) => property.key === name) ?? -1;
	if (!servers || index < 0) return text;
	return withoutServer(apply(text, removeProperty(text, servers, index)), name);
}

/** The text with the server switched off or on. Throws as `serverNamesIn`. */
export function withDisabled(text: string, name: string, isDisabled: boolean): string {
	const present = parse(text).servers?.properties.find((property) => property.key === name);
	if (present?.value.type !== "object") return text;
	const { disabled, ...server } = getNodeValue(present.value) as JsonObject;
	if ((disabled === true) === isDisabled) return text;
	const content = JSON.stringify(isDisabled ? { ...server, disabled: true } : server);
	return apply(text, [replaceValue(present, content)]);
}

/** Takes back what was made, unless somebody else has put something there; null when there is to be no file any more. */
export function withoutMade(text: string, made: Made): string | null {
	if (made === "file") return text === SKELETON ? null : text;
	if (made === "document") {
		const rest = text.slice(0, -SKELETON.length);
		return text.endsWith(SKELETON) && BLANK.test(rest) ? rest : text;
	}
	const { root } = parse(text);
	const index = root.properties.findIndex((property) => property.key === SERVERS);
	const servers = root.properties[index];
	const isUntouched = servers && text.slice(servers.value.offset, servers.end) === "{}";
	return isUntouched ? apply(text, removeProperty(text, root, index)) : text;
}

// --- reading ---------------------------------------------------------------------------------------------------------

function parse(text: string): Parsed {
	const errors: ParseError[] = [];
	const node = toTree(text, errors);
	const [error] = errors;
	if (error) throw new Error(`it is no JSON with comments (${toPlace(text, error.offset)})`);
	if (node?.type !== "object") throw new Error("its content is no JSON object");
	const root = toObjectNode(node);
	const found = root.properties.filter((property) => property.key === SERVERS);
	if (found.length > 1) throw new Error(`it names "${SERVERS}" ${found.length} times`);
	const servers = found[0]?.value;
	if (servers && servers.type !== "object") throw new Error(`its "${SERVERS}" is no JSON object`);
	return { root, servers: servers ? toObjectNode(servers) : null };
}

function toTree(text: string, errors: ParseError[]): Node | undefined {
	try {
		return parseTree(toParsable(text), errors, PARSE_OPTIONS);
	} catch (error) {
		throw new Error("it is nested too deeply", { cause: error }); // The parser calls itself for each level.
	}
}

/** The parser takes no byte order mark. A blank in its place leaves every offset as it is. */
function toParsable(text: string): string {
	return text.startsWith(BYTE_ORDER_MARK) ? ` ${text.slice(1)}` : text;
}

function toPlace(text: string, offset: number): string {
	const lines = text.slice(0, offset).split(/\r\n|\r|\n/);
	return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

function toObjectNode(node: Node): ObjectNode {
	const properties = (node.children ?? []).flatMap((property) => {
		const [key, value] = property.children ?? [];
		if (!key || !value) return []; // Not in a text without errors.
		return { key: String(key.value), value, offset: property.offset, end: value.offset + value.length };
	});
	return { offset: node.offset, end: node.offset + node.length, properties };
}

// --- changing --------------------------------------------------------------------------------------------------------

/**
 * Right behind the opening brace, so that the comma needed is one of its own behind it and nobody else's. On a line of its
 * own when the first of the others is.
 */
function insertFirst(text: string, object: ObjectNode, key: string, content: string): Edit {
	const start = object.offset + 1;
	const property = `${JSON.stringify(key)}: ${content}`;
	if (object.properties.length === 0) return { offset: start, end: start, content: property };
	const [blank = ""] = /^[ \t\r\n]*/.exec(text.slice(start)) ?? [];
	const [lineBreak = ""] = /(\r\n|\r|\n)[ \t]*$/.exec(blank) ?? [];
	return { offset: start, end: start, content: `${lineBreak}${property},` };
}

function replaceValue({ value, end }: Property, content: string): Edit {
	return { offset: value.offset, end, content };
}

/**
 * The property, the blanks before it and one comma: the one behind it, or, when it is the last and has none, the one
 * before it, which only it needed. Comments stay, and so does the line end that ends one.
 */
function removeProperty(text: string, object: ObjectNode, index: number): readonly Edit[] {
	const property = object.properties[index];
	if (!property) return [];
	const { commas, comments } = punctuationOf(text);
	const previousEnd = object.properties[index - 1]?.end ?? object.offset + 1;
	const nextOffset = object.properties[index + 1]?.offset ?? object.end;
	const comma =
		commas.find((offset) => offset >= property.end && offset < nextOffset) ??
		commas.find((offset) => offset >= previousEnd && offset < property.offset);

	const comment = comments.findLast((candidate) => candidate.end <= property.offset);
	let blankStart = property.offset;
	while (blankStart > (comment?.end ?? 0) && /[ \t\r\n]/.test(text.charAt(blankStart - 1))) blankStart--;
	const behind = comma === property.end ? comma + 1 : property.end;
	const endsLineComment = comment?.end === blankStart && text.startsWith("//", comment.offset);
	const offset = endsLineComment && !/[\r\n]/.test(text.charAt(behind)) ? property.offset : blankStart;

	const edits = [{ offset, end: property.end, content: "" }];
	if (comma !== undefined) edits.push({ offset: comma, end: comma + 1, content: "" });
	return edits;
}

function punctuationOf(text: string): {
	readonly commas: readonly number[];
	readonly comments: readonly { readonly offset: number; readonly end: number }[];
} {
	const commas: number[] = [];
	const comments: { readonly offset: number; readonly end: number }[] = [];
	visit(
		toParsable(text),
		{
			onSeparator: (character, offset) => {
				if (character === ",") commas.push(offset);
			},
			onComment: (offset, length) => {
				comments.push({ offset, end: offset + length });
			},
		},
		PARSE_OPTIONS,
	);
	return { commas, comments };
}

/** Edits that do not overlap, in any order. */
function apply(text: string, edits: readonly Edit[]): string {
	return edits
		.toSorted((a, b) => b.offset - a.offset)
		.reduce((result, { offset, end, content }) => result.slice(0, offset) + content + result.slice(end), text);
}
