/** `/agy tools`: which of pi's tools agy is offered in this session. Nothing of it is saved. */

import { AgyError } from "../../shared/errors.ts";
import type { SessionBridge } from "../bridge/session-bridge.ts";
import { nearest } from "./nearest.ts";
import type { Answer, Completion, Subcommand } from "./subcommand.ts";

const VERBS: readonly Completion[] = [
	{ value: "hide", about: "Keep a tool from agy in this session." },
	{ value: "show", about: "Offer it again." },
	{ value: "reset", about: "Offer all of them again." },
];

export function toolsCommand(bridge: Pick<SessionBridge, "hidden" | "offered">, mode: () => string): Subcommand {
	const all = (): readonly string[] => bridge.offered(new Set());
	return {
		name: "tools",
		usage: "[hide <name> | show <name> | reset]",
		about: "pi's tools that agy may use; hide some for this session.",
		complete: (words) => {
			const [verb] = words;
			if (verb === undefined) return VERBS;
			if (words.length > 1) return [];
			if (verb === "hide") return bridge.offered().map((value) => ({ value, about: "" }));
			return verb === "show" ? [...bridge.hidden].map((value) => ({ value, about: "" })) : [];
		},
		run: async ({ rest, words }) => {
			const verb = words[0]?.toLowerCase();
			const name = rest.slice(verb?.length ?? 0).trim();
			switch (verb) {
				case undefined:
					return list(bridge, mode());
				case "hide":
					bridge.hidden.add(find(name, all()));
					return list(bridge, mode());
				case "show":
					bridge.hidden.delete(find(name, [...bridge.hidden]));
					return list(bridge, mode());
				case "reset":
					bridge.hidden.clear();
					return list(bridge, mode());
				default:
					throw new AgyError("bad-argument", `/agy tools ${verb} is unknown.${hint(verb, ["hide", "show", "reset"])}`);
			}
		},
	};
}

function list(bridge: Pick<SessionBridge, "hidden" | "offered">, mode: string): Answer {
	const offered = bridge.offered();
	const hidden = [...bridge.hidden];
	const lines = [
		offered.length === 0 ? "agy is offered none of pi's tools." : `agy is offered: ${offered.join(", ")}.`,
		...(hidden.length === 0 ? [] : [`Hidden in this session: ${hidden.join(", ")}.`]),
		...(mode === "all" ? [] : [`/agy bridge is ${mode}.`]),
	];
	return { text: lines.join(" "), data: { offered, hidden, bridge: mode } };
}

/** A tool of that name; names may hold spaces. Throws `bad-argument`. */
function find(name: string, names: readonly string[]): string {
	const found = names.find((candidate) => candidate === name) ?? names.find((candidate) => isSame(candidate, name));
	if (found !== undefined) return found;
	const known = names.length === 0 ? "There is none." : `Tools: ${names.join(", ")}.`;
	throw new AgyError(
		"bad-argument",
		`${name === "" ? "No tool is named." : `There is no tool "${name}" here.${hint(name, names)}`} ${known}`,
	);
}

function isSame(a: string, b: string): boolean {
	return a.toLowerCase() === b.toLowerCase();
}

function hint(word: string, candidates: readonly string[]): string {
	const meant = nearest(word, candidates);
	return meant === null ? "" : ` Did you mean ${meant}?`;
}
