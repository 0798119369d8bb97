/** `/agy voice` and `/agy speak`. */

import { homedir } from "node:os";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { lastAnswerText } from "../voice/answer-text.ts";
import type { SessionVoice } from "../voice/session-voice.ts";
import { toPath } from "./path-argument.ts";
import type { Answer, Completion, Subcommand } from "./subcommand.ts";

const COMPLETIONS: readonly Completion[] = [
	{ value: "cancel", about: "Give up the recording, or what is being worked on." },
	{ value: "retry", about: "Try again the recording that could not be transcribed." },
];

export function voiceCommands(voice: SessionVoice, key: string): readonly Subcommand[] {
	return [
		{
			name: "voice",
			usage: "[cancel | retry | <sound file>]",
			about: `Start or end a recording, as ${key} does; or transcribe a sound file.`,
			complete: (words) => (words.length === 0 ? COMPLETIONS : []),
			run: async ({ rest, context }) => {
				if (rest === "") return toggle(voice);
				if (rest.toLowerCase() === "cancel") {
					const isCancelled = voice.voice.cancel();
					return { text: isCancelled ? "" : "Nothing is being recorded or transcribed.", data: { isCancelled } };
				}
				if (rest.toLowerCase() === "retry") {
					const isRetried = voice.voice.retry();
					return { text: isRetried ? "" : "No recording is kept: there is nothing to try again.", data: { isRetried } };
				}
				const file = toPath(rest, { cwd: context.cwd, home: homedir(), platform: process.platform });
				return context.mode === "tui" ? begin(voice, file) : transcribe(voice, file);
			},
		},
		{
			name: "speak",
			usage: "[stop | <text>]",
			about: "Read the last answer aloud, or a text; again stops it.",
			complete: (words) => (words.length === 0 ? [{ value: "stop", about: "Stop reading aloud." }] : []),
			run: async ({ rest, context }) => {
				const wasSpeaking = voice.silence();
				if (rest === "stop" || (rest === "" && wasSpeaking))
					return { text: wasSpeaking ? "" : "Nothing is being read aloud.", data: { wasSpeaking } };
				const text = rest === "" ? lastAnswer(context) : rest;
				if (text === "")
					return { text: "There is no answer yet to read aloud.", data: { wasSpeaking }, level: "warning" };
				const spoken = voice.speak(text);
				if (context.mode !== "tui") await spoken;
				else spoken.catch((error: unknown) => context.ui.notify(`Voice: ${(error as Error).message}`, "error"));
				return { text: "", data: { spoken: text } };
			},
		},
	];
}

/** pi holds its prompt line until a command has answered: the screen tells the rest. */
function begin(voice: SessionVoice, file: string): Answer {
	voice.voice.beginFile(file);
	return { text: "", data: { state: voice.voice.state } };
}

async function transcribe(voice: SessionVoice, file: string): Promise<Answer> {
	const { transcript, text, note } = await voice.transcribeFile(file);
	const lines = [text, ...(note === "" ? [] : [`(${note})`])];
	return { text: lines.join("\n"), data: { transcript, text, note }, ...(note !== "" && { level: "warning" }) };
}

function toggle(voice: SessionVoice) {
	if (!voice.hasKey)
		return {
			text: "Recording needs pi in a terminal. Here a sound file can be transcribed: /agy voice <file>",
			data: { error: "no terminal" },
			level: "warning" as const,
		};
	voice.toggle();
	return { text: "", data: { state: voice.voice.state } };
}

function lastAnswer({ sessionManager }: Pick<ExtensionContext, "sessionManager">): string {
	return lastAnswerText(
		sessionManager.getBranch().flatMap((entry) => (entry.type === "message" ? [entry.message] : [])),
	);
}
