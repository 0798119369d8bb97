/** `/agy voice` and `/agy speak`. */

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { lastAnswerText } from "../voice/answer-text.ts";
import type { SessionVoice } from "../voice/session-voice.ts";
import type { Subcommand } from "./subcommand.ts";

export function voiceCommands(voice: SessionVoice, key: string, signal: AbortSignal): readonly Subcommand[] {
	return [
		{
			name: "voice",
			usage: "[cancel | <sound file>]",
			about: `Start or end a recording, as ${key} does; or transcribe a sound file.`,
			complete: (words) => (words.length === 0 ? [{ value: "cancel", about: "Give up the recording." }] : []),
			run: async ({ rest }) => {
				if (rest === "") return toggle(voice);
				if (rest === "cancel") {
					const isCancelled = voice.voice.cancel();
					return { text: isCancelled ? "" : "Nothing is being recorded.", data: { isCancelled } };
				}
				const { transcript, text, note } = await voice.transcribeFile(unquote(rest), signal);
				const lines = [text, ...(note === "" ? [] : [`(${note})`])];
				return { text: lines.join("\n"), data: { transcript, text, note }, ...(note !== "" && { level: "warning" }) };
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

/** A dragged file comes quoted, or with its spaces escaped. */
function unquote(path: string): string {
	return /^(["'])(.*)\1$/.exec(path)?.[2] ?? path.replaceAll(/\\([ ()'"&])/g, "$1");
}
