/**
 * What agy is told for one turn: sections in order, made to fit agy's input line. What does not fit, longest first, goes
 * into a private file that the prompt names; images always do. Nothing is dropped.
 */

import type { ImageContent, UserMessage } from "@earendil-works/pi-ai";
import { MAX_PROMPT_LINE_BYTES } from "../shared/limits.ts";
import type { Spill } from "./spill.ts";

export type Section = {
	/** What it is, as said to agy when it is spilled. */
	readonly name: string;
	/** A line before it when it stands in the prompt; "" for the user's own words. */
	readonly heading: string;
	readonly text: string;
};

const IMAGE_EXTENSIONS: ReadonlyMap<string, string> = new Map([
	["image/png", "png"],
	["image/jpeg", "jpg"],
	["image/webp", "webp"],
	["image/gif", "gif"],
]);

/** Joins the sections into a prompt whose encoded line is within agy's limit. */
export async function composePrompt(
	sections: readonly Section[],
	encode: (text: string) => string,
	spill: Spill,
): Promise<string> {
	const parts = sections
		.filter(({ text }) => text !== "")
		.map((section) => ({ section, shown: show(section), isSpilled: false }));
	const join = () => parts.map(({ shown }) => shown).join("\n\n");
	while (Buffer.byteLength(encode(join())) > MAX_PROMPT_LINE_BYTES) {
		const longest = parts.filter(({ isSpilled }) => !isSpilled).sort((a, b) => b.shown.length - a.shown.length)[0];
		if (!longest) break; // Only references are left; they cannot be shortened.
		const path = await spill.write("prompt", "md", longest.section.text);
		longest.shown = `${capitalize(longest.section.name)} is in the file ${path}, because it is long. Read that whole file before anything else and treat it as if it stood here.`;
		longest.isSpilled = true;
	}
	return join();
}

/** A section that is only referred to, whatever its length. */
export async function toFileSection(name: string, text: string, spill: Spill): Promise<Section> {
	const path = await spill.write("context", "md", text);
	return {
		name,
		heading: "",
		text: `${capitalize(name)} is in the file ${path}. Read that whole file before you answer; do not comment on it.`,
	};
}

/** The user side's words, with each image staged as a file and referenced where it stood. */
export async function renderUserMessages(messages: readonly UserMessage[], spill: Spill): Promise<string> {
	const texts: string[] = [];
	for (const { content } of messages) {
		const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
		for (const block of blocks) texts.push(block.type === "text" ? block.text : await stageImage(block, spill));
	}
	return texts.filter((text) => text !== "").join("\n\n");
}

async function stageImage({ data, mimeType }: ImageContent, spill: Spill): Promise<string> {
	const extension = IMAGE_EXTENSIONS.get(mimeType);
	if (!extension) return `[An attachment of type ${mimeType} was left out: agy reads png, jpeg, webp and gif.]`;
	return `@${await spill.write("image", extension, Buffer.from(data, "base64"))}`;
}

function show({ heading, text }: Section): string {
	return heading === "" ? text : `${heading}\n\n${text}`;
}

function capitalize(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
