/**
 * Arbitrary mcp_config.json texts as people and programs write them: comments and blanks wherever they may stand, trailing
 * commas, any line ends, a byte order mark. Every text is right.
 */
import fc from "fast-check";

/** A document, and which servers it names, in order. */
export type JsoncDocument = { readonly text: string; readonly names: readonly string[] };

type Member = { readonly key: string; readonly value: string };

const blank = fc.constantFrom(
	"",
	"",
	" ",
	"  ",
	"\t",
	"\n",
	"\r\n",
	"\n\t",
	"\n    ",
	"\r\n  ",
	"\n\n",
	"\r",
	" \t\n ",
);
const words = fc.constantFrom("", "x", " mine ", "é ü 🜁", '"a": 1,', "{", "}}", "// not another", "pi_1_0badcafe", "*");
const lineComment = fc
	.tuple(words, fc.constantFrom("", "  ", "\t"), fc.constantFrom("\n", "\r\n", "\r"))
	.map(([text, tail, end]) => `//${text}${tail}${end}`);
const blockComment = fc
	.tuple(words, fc.constantFrom("", "\n", "\r\n * "))
	.map(([text, more]) => `/* ${text}${more} */`);
const trivia = fc
	.array(fc.oneof({ weight: 4, arbitrary: blank }, { weight: 1, arbitrary: fc.oneof(lineComment, blockComment) }), {
		maxLength: 3,
	})
	.map((parts) => parts.join(""));

const key = fc.oneof(
	fc.constantFrom("github", "pi_tools", "pi-bridge-7", "é", "a b", "", "mcp", '"', "\\"),
	fc.string({ unit: "grapheme", maxLength: 6 }),
);
const scalar = fc.constantFrom(
	"1",
	"-0.5e+3",
	"true",
	"false",
	"null",
	'"x"',
	'"\\u00e9\\n"',
	'"// no comment"',
	'"{,}"',
);

const { value } = fc.letrec<{ value: string }>((tie) => ({
	value: fc.oneof(
		{ maxDepth: 3, depthSize: "small" },
		scalar,
		fc
			.array(fc.tuple(key, tie("value")), { maxLength: 3 })
			.chain((pairs) => object(pairs.map(([name, content]) => ({ key: name, value: content })))),
		fc
			.tuple(fc.array(fc.tuple(trivia, tie("value"), trivia), { maxLength: 3 }), trivia)
			.map(([items, inside]) => `[${items.length > 0 ? items.map((item) => item.join("")).join(",") : inside}]`),
	),
}));

/** An object with these members in this order. */
function object(members: readonly Member[]): fc.Arbitrary<string> {
	return fc
		.tuple(fc.array(trivia, { minLength: members.length * 4 + 1, maxLength: members.length * 4 + 1 }), fc.boolean())
		.map(([gaps, hasTrailingComma]) => {
			const gap = (index: number) => gaps[index] ?? "";
			const parts = members.map(
				(member, index) =>
					`${gap(index * 4)}${JSON.stringify(member.key)}${gap(index * 4 + 1)}:${gap(index * 4 + 2)}${member.value}${gap(index * 4 + 3)}`,
			);
			const comma = hasTrailingComma && members.length > 0 ? "," : "";
			return `{${parts.join(",")}${comma}${gap(members.length * 4)}}`;
		});
}

const foreignMembers = fc.uniqueArray(fc.tuple(key, value), { maxLength: 3, selector: ([name]) => name });

/** A document in which `placed` stand among the servers, wherever. */
export function documentWith(placed: readonly Member[]): fc.Arbitrary<JsoncDocument> {
	const servers = foreignMembers.chain((pairs) => {
		const members = pairs.map(([name, content]) => ({ key: name, value: content }));
		return fc
			.shuffledSubarray([...members, ...placed], { minLength: members.length + placed.length })
			.chain((all) => object(all).map((text) => ({ text, names: all.map((member) => member.key) })));
	});
	return fc.tuple(servers, foreignMembers, fc.nat(3), fc.boolean(), trivia, trivia).chain(toDocument);
}

/** A document without a list of servers. */
export const documentWithoutServers: fc.Arbitrary<JsoncDocument> = fc
	.tuple(fc.constant(null), foreignMembers, fc.nat(3), fc.boolean(), trivia, trivia)
	.chain(toDocument);

/** A file that was made and never filled. */
export const blankDocument: fc.Arbitrary<JsoncDocument> = fc
	.tuple(fc.boolean(), fc.array(blank, { maxLength: 4 }))
	.map(([hasMark, parts]) => ({ text: `${hasMark ? "\uFEFF" : ""}${parts.join("")}`, names: [] }));

function toDocument([servers, others, at, hasMark, before, behind]: readonly [
	JsoncDocument | null,
	readonly (readonly [string, string])[],
	number,
	boolean,
	string,
	string,
]): fc.Arbitrary<JsoncDocument> {
	const members = others
		.filter(([name]) => name !== "mcpServers")
		.map(([name, content]) => ({ key: name, value: content }));
	if (servers) members.splice(Math.min(at, members.length), 0, { key: "mcpServers", value: servers.text });
	return object(members).map((text) => ({
		text: `${hasMark ? "\uFEFF" : ""}${before}${text}${behind}`,
		names: servers?.names ?? [],
	}));
}
