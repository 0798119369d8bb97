/** `/agy agent`: the custom agent that agy is started with, and which there are. */

import { AgyError } from "../../shared/errors.ts";
import type { Settings } from "../settings/settings.ts";
import { nearest } from "./nearest.ts";
import { describe, report } from "./settings-answers.ts";
import type { Answer, Subcommand } from "./subcommand.ts";

/** Agent files of pi-agy itself, for pi's system prompt. */
const OWN = /^pi-agy-[0-9a-f]{16}$/;
const NONE = ["off", "none", "default"];

/** `ask` resolves to the lines of `agy agent`; rejects when agy cannot be asked. */
export function agentCommand(settings: Settings, ask: () => Promise<readonly string[]>): Subcommand {
	const listed = async (): Promise<readonly string[] | null> => {
		const names = await ask().catch(() => null); // Without agy any name may be set; the next turn says what is wrong.
		return names === null ? null : names.filter((name) => !OWN.test(name));
	};
	return {
		name: "agent",
		usage: "[<name> | off]",
		about: "Custom agy agent of every turn, or a list of them.",
		complete: async (words) => {
			if (words.length > 0) return [];
			const names = (await listed()) ?? [];
			return [...names.map((value) => ({ value, about: "" })), { value: "off", about: "agy's own agent." }];
		},
		run: async ({ rest }) => {
			if (rest === "") return showAgents(settings, await listed());
			if (NONE.includes(rest.toLowerCase())) return report(await settings.reset("agent"));
			const names = await listed();
			if (names !== null && names.length > 0 && !names.includes(rest)) {
				const meant = nearest(rest, names);
				throw new AgyError(
					"bad-setting",
					`agy has no agent ${rest}.${meant === null ? "" : ` Did you mean ${meant}?`} Agents: ${names.join(", ")}.`,
				);
			}
			return report(await settings.set("agent", rest));
		},
	};
}

function showAgents(settings: Settings, names: readonly string[] | null): Answer {
	const { text, data } = describe(settings.row("agent"));
	const { agent } = settings.config;
	if (names === null)
		return { text: `${text} agy could not be asked for its agents.`, data: { ...data, agents: null } };
	if (names.length === 0) return { text: `${text} agy lists no agents.`, data: { ...data, agents: [] } };
	const marked = names.map((name) => `${name === agent ? "*" : " "} ${name}`);
	return { text: [text, ...marked].join("\n"), data: { ...data, agents: names } };
}
