/**
 * `/agy`: finds the subcommand, completes its words, and shows the answer where pi's mode has room for it: below the
 * conversation in the terminal and over rpc, printed in print mode. A word that is no subcommand gets a suggestion.
 *
 * Print mode is for scripts: an answer goes to stdout, what failed to stderr, as pi prints a turn, and pi's exit code is 1
 * then. With --json both go to stdout, for a program reads one stream.
 */

import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { AgyError, toError } from "../../shared/errors.ts";
import { redact } from "../../shared/redact.ts";
import type { LogWriter } from "../log.ts";
import { AnswerView, type ShownAnswer } from "./answer-view.ts";
import { nearest } from "./nearest.ts";
import type { Answer, Completion, Subcommand } from "./subcommand.ts";

const COMMAND = "agy";
/** What `/agy` alone is. */
const BARE = "settings";
const HELP: Completion = { value: "help", about: "All subcommands." };
/** The kind of pi's entries that hold answers. They are shown and not sent to a model. */
const ANSWER_ENTRY = "pi-agy-answer";

/** Where `/agy help` tells what a command does: behind most of them, below the longest, on 80 columns. */
const HELP_COLUMN = 34;

const STDOUT = 1;
const STDERR = 2;
/** How soon a reader that is slower than its pipe is looked at again. */
const FULL_PIPE_POLL_MS = 10;

/** What the command needs of its session. */
export type CommandParts = {
	readonly commands: readonly Subcommand[];
	readonly log: LogWriter;
	/** Why no subcommand runs any more; null while they do. */
	readonly refusal: string | null;
};

/** `open` is called when somebody types. */
export function registerAgyCommand(pi: ExtensionAPI, open: () => Promise<CommandParts>): void {
	pi.registerEntryRenderer<ShownAnswer>(ANSWER_ENTRY, ({ data }, _options, theme) => {
		return data && new AnswerView(data, theme);
	});
	pi.registerCommand(COMMAND, {
		description: "Antigravity: settings, state and voice. /agy help lists everything.",
		getArgumentCompletions: async (prefix) => {
			const items = await complete((await open()).commands, prefix);
			return items.map(({ value, about }) => ({ value, label: value, description: about }));
		},
		handler: async (args, context) => {
			const { commands, log, refusal } = await open();
			const byName = new Map(commands.map((subcommand) => [subcommand.name, subcommand]));
			const name = firstWord(args).toLowerCase();
			const command = byName.has(name) ? name : ""; // What else was typed is the user's.
			log("info", `/agy ${command}`.trim(), { event: "agy-command", command });
			const answer = await answerTo(args, byName, context, refusal).catch((error: unknown): Answer => {
				const { message } = toError(error);
				if (!(error instanceof AgyError)) log("error", `/agy ${firstWord(args)}: ${toError(error).stack ?? message}`);
				return { text: message, data: { error: message }, level: "error" };
			});
			await show(pi, context, { command: `/agy ${args.trim()}`.trim(), asJson: wantsJson(args) }, answer);
		},
	});
}

async function answerTo(
	args: string,
	byName: ReadonlyMap<string, Subcommand>,
	context: ExtensionCommandContext,
	refusal: string | null,
): Promise<Answer> {
	const typed = withoutJson(args);
	const name = firstWord(typed);
	const rest = typed.slice(name.length).trim();
	if (name.toLowerCase() === HELP.value) return listing([...byName.values()]);
	if (refusal !== null) throw new AgyError("cancelled", refusal);
	const subcommand = byName.get(name === "" ? BARE : name.toLowerCase());
	if (subcommand) return subcommand.run({ rest, words: toWords(rest), asJson: wantsJson(args), context });
	const meant = nearest(name.toLowerCase(), [...byName.keys(), HELP.value]);
	return {
		text: `/agy ${name} is unknown.${meant === null ? "" : ` Did you mean /agy ${meant}?`} /agy help lists everything.`,
		data: { error: `unknown: ${name}`, meant },
		level: "warning",
	};
}

function listing(subcommands: readonly Subcommand[]): Answer {
	const rows = subcommands.map(({ name, usage, about }) => ({ call: `/agy ${name} ${usage}`.trim(), about }));
	const lines = rows.map(({ call, about }) =>
		call.length > HELP_COLUMN - 2 ? `${call}\n${" ".repeat(HELP_COLUMN)}${about}` : call.padEnd(HELP_COLUMN) + about,
	);
	return {
		text: lines.join("\n"),
		data: { commands: rows },
	};
}

/**
 * Values are whole argument texts: pi puts one in place of everything behind `/agy `. Behind a complete word there are none,
 * though a longer one may begin with it: while pi shows a list, Enter takes from it instead of running the command.
 */
export async function complete(subcommands: readonly Subcommand[], prefix: string): Promise<readonly Completion[]> {
	const name = firstWord(prefix).toLowerCase();
	if (!/\s/.test(prefix.trimStart())) {
		const names = [...subcommands.map((subcommand) => ({ value: subcommand.name, about: subcommand.about })), HELP];
		return startingWith(name, names);
	}
	const words = prefix.trimStart().split(/\s+/);
	const begun = (words.pop() ?? "").toLowerCase();
	const subcommand = subcommands.find((candidate) => candidate.name === name);
	const next = (await subcommand?.complete?.(words.slice(1))) ?? [];
	return startingWith(begun, next).map(({ value, about }) => ({ value: [...words, value].join(" "), about }));
}

/** Those that the word begins; none when it is one of them. */
function startingWith(begun: string, completions: readonly Completion[]): readonly Completion[] {
	const matching = completions.filter(({ value }) => value.toLowerCase().startsWith(begun));
	return matching.some(({ value }) => value.toLowerCase() === begun) ? [] : matching;
}

async function show(
	pi: ExtensionAPI,
	context: ExtensionCommandContext,
	{ command, asJson }: { readonly command: string; readonly asJson: boolean },
	answer: Answer,
): Promise<void> {
	const { level = "info", data } = answer;
	const text = asJson ? JSON.stringify(data ?? { text: answer.text }, null, "\t") : answer.text;
	const isPrinted = context.mode === "print";
	if (isPrinted && hasFailed(answer)) process.exitCode = 1;
	if (text === "") return;
	if (isPrinted) {
		await print(text, hasFailed(answer) && !asJson ? STDERR : STDOUT);
		return;
	}
	if (context.mode === "tui" && !asJson && !text.includes("\n")) context.ui.notify(text, level);
	else pi.appendEntry<ShownAnswer>(ANSWER_ENTRY, { command: redact(command), text: redact(text), level }); // pi keeps it in its file.
}

/** Programs are told by `error` in the answer's data, which warnings have that are no success either. */
function hasFailed({ level, data }: Answer): boolean {
	return level === "error" || data?.error !== undefined;
}

/**
 * The only place that writes to the terminal: pi keeps process.stdout to itself in print mode and has no other place for a
 * command's answer. A pipe takes 64 KB at most until somebody reads.
 */
async function print(text: string, descriptor: number): Promise<void> {
	const bytes = Buffer.from(`${text}\n`);
	for (let at = 0; at < bytes.length; ) {
		try {
			at += writeSync(descriptor, bytes, at);
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code === "EPIPE") return; // Nobody reads it: `pi -p ... | head`.
			if (code !== "EAGAIN") throw error;
			await delay(FULL_PIPE_POLL_MS);
		}
	}
}

function firstWord(text: string): string {
	return /^\s*(\S*)/.exec(text)?.[1] ?? "";
}

function toWords(text: string): readonly string[] {
	return text.split(/\s+/).filter((word) => word !== "");
}

function wantsJson(args: string): boolean {
	return toWords(args).includes("--json");
}

function withoutJson(text: string): string {
	return text.replace(/(^|\s)--json(?=\s|$)/g, "").trim();
}
