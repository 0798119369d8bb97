/**
 * The subcommands of `/agy` that show and change settings: one word for each that is changed often, `set` and `reset` for
 * every other, and `settings` for all at once. Without a value a subcommand tells the value, where it stands and what is
 * allowed.
 */

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Catalog } from "../models.ts";
import type { Settings } from "../settings/settings.ts";
import { KEYS, type Key, rowOf } from "../settings/table.ts";
import { chooseModel } from "../tools/delegate-model.ts";
import { choicesOf, describe, keyOf, listAll, report } from "./settings-answers.ts";
import { openPicker } from "./settings-picker.ts";
import type { Answer, Completion, Subcommand } from "./subcommand.ts";

export type SettingsCommandsOptions = {
	readonly settings: Settings;
	readonly catalog: () => Catalog;
};

type Word = {
	readonly name: string;
	readonly key: Key;
	readonly about: string;
	/** What has to be known of a new value. */
	readonly warn?: (value: unknown) => string;
	/** Typed values that are not the setting's own; null takes it out of the file. */
	readonly also?: Readonly<Record<string, string | null>>;
};

const PLAN_WARNING = "plan is no protection: agy goes on after its plan and may change files. /agy readonly on is one.";
const PERMISSIONS_WARNING =
	"agy now runs every command and edit without asking. Keep it to folders and machines where that is fine.";
const READONLY_NOTE = "A turn that already runs goes on; Esc stops it.";

const WORDS: readonly Word[] = [
	{ name: "engine", key: "engine", about: "How agy is driven." },
	{ name: "mode", key: "mode", about: "agy's mode.", warn: (value) => (value === "plan" ? PLAN_WARNING : "") },
	{
		name: "readonly",
		key: "readonly",
		about: "Refuse every turn and every delegated run.",
		warn: (value) => (value === true ? READONLY_NOTE : ""),
	},
	{
		name: "permissions",
		key: "skipPermissions",
		about: "Let agy act without asking (on), or only as its own settings allow (off).",
		warn: (value) => (value === true ? PERMISSIONS_WARNING : ""),
	},
	{ name: "thinking", key: "defaultThinking", about: "Thinking level of delegated runs." },
	{ name: "digest", key: "digest", about: "Put what agy missed beside the prompt." },
	{ name: "system-prompt", key: "systemPrompt", about: "Give agy pi's system prompt." },
	{ name: "bridge", key: "bridgeTools", about: "Which of pi's tools agy may use; applies at once." },
	{ name: "ask", key: "askTool", about: "Offer the tool AskAntigravity to other models." },
	{ name: "timeout", key: "turnTimeoutMin", about: "Minutes a turn may take.", also: { off: "0", default: null } },
];

export function settingsCommands({ settings, catalog }: SettingsCommandsOptions): readonly Subcommand[] {
	return [
		{
			name: "settings",
			usage: "",
			about: "All settings and where each value comes from.",
			run: async ({ context, asJson }) => showAll(settings, context, asJson),
		},
		...WORDS.map((word) => toSubcommand(word, settings)),
		modelCommand(settings, catalog),
		{
			name: "set",
			usage: "<setting> <value>",
			about: "Change any setting.",
			complete: (words) => completeSetting(words, settings),
			run: async ({ words: [name = ""], rest }) => {
				const key = keyOf(name);
				const typed = rest.slice(name.length).trim();
				return typed === "" ? describe(settings.row(key)) : change(settings, key, typed);
			},
		},
		{
			name: "reset",
			usage: "<setting>",
			about: "Take a setting out of config.json.",
			complete: (words) => (words.length === 0 ? settingNames() : []),
			run: async ({ words: [name = ""] }) => report(await settings.reset(keyOf(name))),
		},
	];
}

function toSubcommand({ name, key, about, also = {} }: Word, settings: Settings): Subcommand {
	const values = () => [
		...choicesOf(settings.row(key)),
		...Object.keys(also).map((value) => ({ value, about: "" })),
		...(rowOf(key).kind.choices.includes("default") || "default" in also ? [] : [DEFAULT_CHOICE]),
	];
	return {
		name,
		usage: `[${[...rowOf(key).kind.choices, ...(key === "turnTimeoutMin" ? ["<minutes>"] : []), ...Object.keys(also)].join(" | ")}]`,
		about,
		complete: (words) => (words.length === 0 ? values() : []),
		run: async ({ rest }) => {
			if (rest === "") return describe(settings.row(key));
			const typed = rest.toLowerCase();
			const meant = Object.hasOwn(also, typed) ? (also[typed] ?? null) : typed;
			if (meant === null || (meant === "default" && !rowOf(key).kind.choices.includes("default")))
				return report(await settings.reset(key));
			return change(settings, key, meant);
		},
	};
}

const DEFAULT_CHOICE: Completion = { value: "default", about: "Take it out of config.json." };

/** A name that agy's list does not know is refused at once, not at the next delegated run. */
function modelCommand(settings: Settings, catalog: () => Catalog): Subcommand {
	const ids = () =>
		catalog()
			.toPiModels()
			.map(({ id }) => ({ value: id, about: "" }));
	return {
		name: "model",
		usage: "[<name> | default]",
		about: "Model of delegated runs.",
		complete: (words) => (words.length === 0 ? [...ids(), DEFAULT_CHOICE] : []),
		run: async ({ rest }) => {
			if (rest === "") return describe(settings.row("defaultModel"));
			if (rest.toLowerCase() === "default") return report(await settings.reset("defaultModel"));
			const { defaultThinking } = settings.config;
			chooseModel(catalog(), { model: rest, thinking: undefined, defaultThinking });
			return change(settings, "defaultModel", rest);
		},
	};
}

async function showAll(settings: Settings, context: ExtensionCommandContext, asJson: boolean): Promise<Answer> {
	if (context.mode !== "tui" || asJson) return listAll(settings.rows(), settings);
	await openPicker(settings, context, (key, typed) => change(settings, key, typed));
	return { text: "" };
}

/** Saves it and tells what came of it, with what has to be known of the value. */
async function change(settings: Settings, key: Key, typed: string): Promise<Answer> {
	const changed = await settings.set(key, typed);
	const warn = WORDS.find((word) => word.key === key)?.warn;
	return report(changed, changed.shadowedBy === null ? warn?.(settings.row(key).value) : "");
}

function completeSetting(words: readonly string[], settings: Settings): readonly Completion[] {
	const [name] = words;
	if (name === undefined) return settingNames();
	const key = KEYS.find((candidate) => candidate.toLowerCase() === name.toLowerCase());
	return words.length === 1 && key !== undefined ? choicesOf(settings.row(key)) : [];
}

function settingNames(): readonly Completion[] {
	return KEYS.map((key) => ({ value: key, about: rowOf(key).about }));
}
