/**
 * {{name}} in scenario strings: what only the running process knows. Replaced in one pass, so text that came from a prompt
 * is never looked at again.
 */
import { readdirSync } from "node:fs";
import { brainPath } from "../process/home.ts";
import type { Session } from "./session.ts";

const MAX_LISTED_FILES = 20;

export function fillPlaceholders(template: string, session: Session, prompt: string): string {
	return template.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => {
		switch (name) {
			case "prompt":
				return prompt;
			case "lastLine":
				return prompt.trimEnd().split("\n").at(-1) ?? "";
			case "workspace":
				return session.workspace;
			case "cwd":
				return process.cwd();
			case "conversation":
				return session.conversation.id;
			case "brain":
				return brainPath(session.simulation.home, session.conversation.id);
			case "home":
				return session.simulation.home.path;
			case "version":
				return session.simulation.version;
			case "model":
				return session.model ?? "the default model";
			case "files":
				return listFiles(session.workspace);
			default:
				return whole;
		}
	});
}

/** The same within every string of a JSON value. */
export function fillDeep<T>(value: T, fill: (template: string) => string): T {
	if (typeof value === "string") return fill(value) as T;
	if (Array.isArray(value)) return value.map((item) => fillDeep(item, fill)) as T;
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillDeep(item, fill)])) as T;
}

function listFiles(folder: string): string {
	try {
		const names = readdirSync(folder, { withFileTypes: true })
			.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
			.sort();
		const shown = names.slice(0, MAX_LISTED_FILES);
		if (names.length > shown.length) shown.push(`(and ${names.length - shown.length} more)`);
		return shown.length > 0 ? shown.join("\n") : "(empty)";
	} catch {
		return "(not readable)"; // the folder is gone or closed to us
	}
}
