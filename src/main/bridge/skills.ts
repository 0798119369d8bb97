/**
 * pi's skills for agy: one tool whose argument names a skill, answered here with the skill's text and the paths of its
 * files. The skills are those pi itself has loaded, as the `before_agent_start` event gives them in
 * `systemPromptOptions.skills`: settings, packages, trust and `/reload` apply, and what other extensions changed for this
 * run. Skills that only the user may start are left out, as pi leaves them out of its prompt.
 */

import { open, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Skill } from "@earendil-works/pi-coding-agent";
import type { JsonObject } from "../../shared/events.ts";
import type { BridgeTool, CallResult } from "./mcp-server.ts";

export type BridgeSkill = Pick<Skill, "name" | "description" | "filePath" | "baseDir">;

export const SKILL_TOOL = "activate_skill";

/** A skill's text: some 6,000 tokens. Longer ones are cut, with the path of the file. */
export const SKILL_CHARS = 24_000;
/** Bytes that can hold so many characters of UTF-8. */
const SKILL_BYTES = SKILL_CHARS * 4;
const MAX_RESOURCES = 20;
/** Folders looked into for resources: a skill may hold a whole project. */
const MAX_FOLDERS = 50;
/** A skill in the tool's description: one line. */
const SUMMARY_CHARS = 160;
/** The file name that makes a folder a skill; a skill of another name has no folder of its own. */
const SKILL_FILE = "SKILL.md";

/** Those of pi's skills that a model may start; of two with one name the first. */
export function toBridgeSkills(skills: readonly Skill[]): readonly BridgeSkill[] {
	const byName = new Map<string, BridgeSkill>();
	for (const skill of skills) {
		if (!skill.disableModelInvocation && !byName.has(skill.name)) byName.set(skill.name, skill);
	}
	return [...byName.values()];
}

export function skillTool(skills: readonly BridgeSkill[]): BridgeTool {
	const lines = skills.map(({ name, description }) => `- ${name}: ${toSummary(description)}`);
	return {
		name: SKILL_TOOL,
		description: `Gets the instructions of a skill of the pi coding agent. Call it before work that a skill describes, and follow what it says. Skills:\n${lines.join("\n")}`,
		inputSchema: {
			type: "object",
			properties: { name: { type: "string", enum: skills.map(({ name }) => name) } },
			required: ["name"],
			additionalProperties: false,
		},
	};
}

/** Never throws: a skill that is unknown or cannot be read is an error result. */
export async function activateSkill(skills: readonly BridgeSkill[], args: JsonObject): Promise<CallResult> {
	const skill = skills.find(({ name }) => name === args.name);
	if (!skill) {
		const known = skills.map(({ name }) => name).join(", ");
		return toResult(`There is no skill of this name. The skills are: ${known}.`, true);
	}
	try {
		const parts = [
			`Skill ${skill.name}. Relative paths in it are relative to ${skill.baseDir}.`,
			await readText(skill),
		];
		const resources = basename(skill.filePath) === SKILL_FILE ? await findResources(skill) : [];
		if (resources.length > 0) parts.push(`Files of the skill:\n${resources.join("\n")}`);
		return toResult(parts.join("\n\n"), false);
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		return toResult(`The skill ${skill.name} cannot be read: ${reason}. Go on without it and tell the user.`, true);
	}
}

async function readText({ filePath }: BridgeSkill): Promise<string> {
	const file = await open(filePath);
	try {
		// One byte more tells that there is more.
		const { bytesRead, buffer } = await file.read(Buffer.alloc(SKILL_BYTES + 1), 0, SKILL_BYTES + 1);
		// The decoder leaves a byte order mark out.
		const text = new TextDecoder().decode(buffer.subarray(0, bytesRead));
		if (bytesRead <= SKILL_BYTES && text.length <= SKILL_CHARS) return text;
		return `${text.slice(0, SKILL_CHARS)}\n[cut after ${SKILL_CHARS} characters; the rest is in ${filePath}]`;
	} finally {
		await file.close();
	}
}

/** Absolute paths, folder by folder from the top. Links are not followed: they may lead anywhere. */
async function findResources({ baseDir, filePath }: BridgeSkill): Promise<readonly string[]> {
	const found: string[] = [];
	const folders = [baseDir];
	for (const folder of folders) {
		const entries = await readdir(folder, { withFileTypes: true });
		for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
			const path = join(folder, entry.name);
			if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
			if (entry.isDirectory() && folders.length < MAX_FOLDERS) folders.push(path);
			if (!entry.isFile() || path === filePath) continue;
			found.push(path);
			if (found.length === MAX_RESOURCES) return found;
		}
	}
	return found;
}

function toSummary(description: string): string {
	const line = description.replaceAll(/\s+/g, " ").trim();
	return line.length <= SUMMARY_CHARS ? line : `${line.slice(0, SUMMARY_CHARS - 1)}…`;
}

function toResult(text: string, isError: boolean): CallResult {
	return { content: [{ type: "text", text }], isError };
}
