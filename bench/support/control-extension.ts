/**
 * The control of the pi suite: a provider extension without threads, made with care. One process per session, kept across
 * turns; its stdout is read, parsed and mapped on pi's thread (control.ts), and each piece of text is one event of pi's.
 * Messages are written by the same PiStream as ours, so what differs is how the events get there.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Message, Model, SimpleStreamOptions, TranscriptContext } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { PiStream } from "../../src/main/pi-stream.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { LineParser, mapLine } from "./control.ts";

export const CONTROL_PROVIDER = "control";

export function controlExtension(pi: ExtensionAPI): void {
	const agents = new Map<string, ControlAgent>();
	pi.registerProvider(CONTROL_PROVIDER, {
		name: "Control",
		baseUrl: "control://control",
		apiKey: "none-needed",
		api: "control",
		models: [
			{
				id: "gemini-3.8-flash",
				name: "Gemini",
				reasoning: false,
				input: ["text"],
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
				contextWindow: 1_000_000,
				maxTokens: 65_536,
			},
		],
		streamSimple: (model: Model<string>, context: TranscriptContext, options?: SimpleStreamOptions) => {
			const sessionId = options?.sessionId ?? "";
			const agent = agents.get(sessionId) ?? new ControlAgent(() => agents.delete(sessionId));
			agents.set(sessionId, agent);
			return agent.ask(new PiStream(model), lastUserText(context.messages)).events;
		},
	});
	pi.on("session_shutdown", async () => {
		await Promise.all([...agents.values()].map((agent) => agent.close()));
	});
}

class ControlAgent {
	readonly #child: ChildProcessByStdio<Writable, Readable, null>;
	readonly #exited: Promise<unknown>;
	#stream: PiStream | null = null;

	constructor(onExit: () => void) {
		const { AGY_BIN = "agy", PATH = "", HOME = "" } = process.env;
		this.#child = spawn(AGY_BIN, [], { stdio: ["pipe", "pipe", "inherit"], env: { PATH, HOME } });
		this.#exited = new Promise((resolve) => this.#child.once("exit", resolve));
		void this.#exited.then(onExit);
		const onEvent = (event: AgyEvent) => this.#take(event);
		const parser = new LineParser((line) => mapLine(line, onEvent));
		this.#child.stdout.on("data", (chunk: Buffer) => parser.push(chunk));
	}

	ask(stream: PiStream, content: string): PiStream {
		this.#stream = stream;
		stream.start();
		this.#child.stdin.write(`${JSON.stringify({ event: "user", message: { role: "user", content } })}\n`);
		return stream;
	}

	async close(): Promise<void> {
		this.#child.stdin.end();
		await this.#exited;
	}

	#take(event: AgyEvent): void {
		const stream = this.#stream;
		if (!stream) return;
		if (event.kind === "text") stream.text(event.text);
		else if (event.kind === "model-call" && event.usage) stream.addUsage(event.usage);
		else if (event.kind === "turn-end") stream.done("stop");
	}
}

function lastUserText(messages: readonly Message[]): string {
	const content = messages.findLast((message) => message.role === "user")?.content ?? "";
	if (typeof content === "string") return content;
	return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
