/** What pi's list offers behind `/agy `; the rest of the command is tested in the real pi. */
import { expect, test } from "vitest";
import { complete } from "../../../src/main/command/agy-command.ts";
import type { Subcommand } from "../../../src/main/command/subcommand.ts";

const completions = ["cancel", "Canada"].map((value) => ({ value, about: "" }));
const SUBCOMMANDS: readonly Subcommand[] = [
	{ name: "set", usage: "", about: "", run: async () => ({ text: "" }) },
	{ name: "settings", usage: "", about: "", run: async () => ({ text: "" }) },
	{
		name: "voice",
		usage: "",
		about: "",
		complete: (words) => (words.length === 0 ? completions : []),
		run: async () => ({ text: "" }),
	},
];

test.each([
	["", ["set", "settings", "voice", "help"]],
	["h", ["help"]],
	["se", ["set", "settings"]],
	["set", []], // Enter runs it.
	["SET", []],
	["sett", ["settings"]],
	["settings", []],
	["help", []],
	["voi", ["voice"]],
	["voice ", ["voice cancel", "voice Canada"]],
	["voice can", ["voice cancel", "voice Canada"]],
	["voice cance", ["voice cancel"]],
	["voice cancel", []],
	["voice canada", []],
	["voice cancel ", []],
	["nothing of it", []],
])("/agy %s", async (typed, offered) => {
	expect((await complete(SUBCOMMANDS, typed)).map(({ value }) => value)).toStrictEqual(offered);
});
