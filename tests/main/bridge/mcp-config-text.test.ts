import fc from "fast-check";
import { findNodeAtLocation, type ParseError, parse, parseTree, visit } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import {
	serverNamesIn,
	withDisabled,
	withoutMade,
	withoutServer,
	withServer,
} from "../../../src/main/bridge/mcp-config-text.ts";
import { blankDocument, documentWith, documentWithoutServers } from "../../support/jsonc-documents.ts";

const OURS = "pi_17_0123abcd";
const SECOND = "pi_18_0123abcd";
const SERVER = { serverUrl: "http://127.0.0.1:4567/mcp", headers: { Authorization: "Bearer x" } };
const RUNS = { numRuns: 400 };

const anyDocument = fc.oneof(documentWith([]), documentWithoutServers, blankDocument);

/** The value of a text, read by the library and not by us. */
function toValue(text: string): { mcpServers?: Record<string, unknown> } & Record<string, unknown> {
	const errors: ParseError[] = [];
	const value: unknown = parse(text.replace(/^\uFEFF/, ""), errors, { allowTrailingComma: true });
	expect(errors).toStrictEqual([]);
	return value as ReturnType<typeof toValue>;
}

/** The comments of a text but for those within the entry of ours. */
function commentsOf(text: string): readonly string[] {
	const comments: string[] = [];
	const source = text.replace(/^\uFEFF/, " ");
	const root = parseTree(source);
	const entry = root && findNodeAtLocation(root, ["mcpServers", OURS])?.parent;
	const isWithin = (offset: number) => entry && offset >= entry.offset && offset < entry.offset + entry.length;
	visit(source, {
		onComment: (offset, length) => {
			if (!isWithin(offset)) comments.push(source.slice(offset, offset + length));
		},
	});
	return comments;
}

/** Adds and removes again, as the shared file does it. */
function addAndRemove(text: string | null, names: readonly string[], removed = names): string | null {
	let next = text;
	const makes: ("file" | "document" | "servers")[] = [];
	for (const name of names) {
		const added = withServer(next, name, SERVER);
		next = added.text;
		if (added.made) makes.push(added.made);
	}
	for (const name of removed) next = next === null ? null : withoutServer(next, name);
	for (const made of makes) next = next === null ? null : withoutMade(next, made);
	return next;
}

describe("an entry of ours", () => {
	test("goes without a trace, whatever the file looks like", () => {
		fc.assert(
			fc.property(anyDocument, ({ text }) => addAndRemove(text, [OURS]) === text),
			RUNS,
		);
	});

	test("goes without a trace in whatever order several go, switched off and on in between", () => {
		fc.assert(
			fc.property(anyDocument, fc.boolean(), ({ text }, isReversed) => {
				const names = [OURS, SECOND, "pi_19_0123abcd"];
				expect(addAndRemove(text, names, isReversed ? names.toReversed() : names)).toBe(text);
				const added = withServer(text, OURS, SERVER).text;
				const off = withDisabled(added, OURS, true);
				expect(toValue(off).mcpServers?.[OURS]).toStrictEqual({ ...SERVER, disabled: true });
				expect(withDisabled(off, OURS, false)).toBe(added);
			}),
			RUNS,
		);
	});

	test("is one piece in the text, and every other byte stays where it was", () => {
		fc.assert(
			fc.property(fc.oneof(documentWith([]), documentWithoutServers), ({ text, names }) => {
				const next = withServer(text, OURS, SERVER).text;
				let same = 0;
				while (same < text.length && text[same] === next[same]) same++;
				expect(next.endsWith(text.slice(same)) && next.length > text.length).toBe(true);
				expect(serverNamesIn(next)).toStrictEqual([OURS, ...names]);
				const { mcpServers, ...others } = toValue(next);
				const { mcpServers: before, ...othersBefore } = toValue(text);
				expect(others).toStrictEqual(othersBefore);
				expect(mcpServers).toStrictEqual({ [OURS]: SERVER, ...before });
			}),
			RUNS,
		);
	});

	test("that another program has written anew takes no comment and no other entry with it", () => {
		const placed = documentWith([{ key: OURS, value: JSON.stringify(SERVER) }]);
		fc.assert(
			fc.property(placed, ({ text, names }) => {
				const next = withoutServer(text, OURS);
				expect(serverNamesIn(next)).toStrictEqual(names.filter((name) => name !== OURS));
				expect(commentsOf(next)).toStrictEqual(commentsOf(text));
				const before = toValue(text);
				const { [OURS]: _ours, ...servers } = before.mcpServers ?? {};
				expect(toValue(next)).toStrictEqual({ ...before, mcpServers: servers });
			}),
			RUNS,
		);
	});

	test.each([
		["no file", null, `{\n\t"mcpServers": {"n": 1}\n}\n`],
		["an empty file", "", `{\n\t"mcpServers": {"n": 1}\n}\n`],
		["a blank file with a mark", "\uFEFF\r\n", `\uFEFF\r\n{\n\t"mcpServers": {"n": 1}\n}\n`],
		["an empty object", "{}", `{"mcpServers": {"n": 1}}`],
		["no servers", '{\n  "a": 1\n}\n', '{\n  "mcpServers": {"n": 1},\n  "a": 1\n}\n'],
		["empty servers", '{"mcpServers":{}}', '{"mcpServers":{"n": 1}}'],
		["servers in one line", '{"mcpServers":{"a":{}}}', '{"mcpServers":{"n": 1,"a":{}}}'],
		[
			"a server a line",
			'{\r\n\t"mcpServers": {\r\n\t\t"a": {},\r\n\t},\r\n}',
			'{\r\n\t"mcpServers": {\r\n\t\t"n": 1,\r\n\t\t"a": {},\r\n\t},\r\n}',
		],
		["a comment first", '{"mcpServers":{ // mine\n "a":{}}}', '{"mcpServers":{"n": 1, // mine\n "a":{}}}'],
	])("reads well in %s", (_name, text, expected) => {
		expect(withServer(text, "n", 1 as never).text).toBe(expected);
	});

	test.each([
		["the comma that others need", '{"mcpServers":{"a":{},"n":1}}', '{"mcpServers":{"a":{}}}'],
		["a trailing comma", '{"mcpServers":{"a":{},"n":1,}}', '{"mcpServers":{"a":{},}}'],
		["a comment that ends with its line", '{"mcpServers":{ // c\n"n":1,"a":{}}}', '{"mcpServers":{ // c\n"a":{}}}'],
		["the line end behind a comment", '{"mcpServers":{ // c\n"n":1}}', '{"mcpServers":{ // c\n}}'],
		["a comment between entry and comma", '{"mcpServers":{"n":1 /*c*/ ,"a":{}}}', '{"mcpServers":{ /*c*/ "a":{}}}'],
		["nothing of a repeated name", '{"mcpServers":{"n":1,"a":{},"n":2}}', '{"mcpServers":{"a":{}}}'],
		["the text when it is not there", '{"mcpServers":{"a":{}}}', '{"mcpServers":{"a":{}}}'],
	])("leaves %s", (_name, text, expected) => {
		expect(withoutServer(text, "n")).toBe(expected);
	});
});

describe("what was made", () => {
	test("stays when somebody else uses it by now", () => {
		const text = withServer(null, OURS, SERVER).text;
		const used = withoutServer(withServer(text, "mine", { command: "x" }).text, OURS);
		expect(withoutMade(used, "file")).toBe(used);
		expect(withoutMade(used, "document")).toBe(used);
		expect(withoutMade(used, "servers")).toBe(used);
		expect(withoutMade('{"mcpServers": { /* soon */ }}', "servers")).toBe('{"mcpServers": { /* soon */ }}');
		expect(withoutMade("{}", "servers")).toBe("{}");
	});
});

describe("a text that is not understood is refused", () => {
	test.each([
		["a cut one", '{"mcpServers":{', /no JSON with comments \(line 1, column 16\)/],
		["a comma missing", '{\n  "a": 1\n  "b": 2\n}', /line 3, column 3/],
		["a comma alone", '{"mcpServers":{,}}', /no JSON with comments/],
		["more than one value", "{} {}", /no JSON with comments/],
		["an open comment", "{} /* x", /no JSON with comments/],
		["only a comment", "// nothing yet", /no JSON with comments/],
		["a quote of another kind", "{'mcpServers':{}}", /no JSON with comments/],
		["a list", "[]", /content is no JSON object/],
		["null", "null", /content is no JSON object/],
		["servers as a list", '{"mcpServers":[]}', /"mcpServers" is no JSON object/],
		["servers as null", '{"mcpServers":null}', /"mcpServers" is no JSON object/],
		["servers twice", '{"mcpServers":{},"mcp\\u0053ervers":{}}', /names "mcpServers" 2 times/],
		["a deep one", `{"a":${"[".repeat(200_000)}`, /nested too deeply/],
	])("%s", (_name, text, reason) => {
		expect(() => serverNamesIn(text)).toThrow(reason);
		expect(() => withServer(text, OURS, SERVER)).toThrow(reason);
		expect(() => withoutServer(text, OURS)).toThrow(reason);
		expect(() => withDisabled(text, OURS, true)).toThrow(reason);
	});

	test("whatever is cut off it, or it is the same as before", () => {
		fc.assert(
			fc.property(documentWith([]), fc.nat(), ({ text }, seed) => {
				const cut = text.slice(0, seed % text.length);
				try {
					return addAndRemove(cut, [OURS]) === cut;
				} catch (error) {
					return error instanceof Error;
				}
			}),
			RUNS,
		);
	});
});
