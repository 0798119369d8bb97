/** A process on an audio lane as main starts one: its pipes go to the lane, main keeps what the lane reports. */

import { randomBytes } from "node:crypto";
import type { Lane, LinkMessage } from "../../src/main/lanes.ts";
import { PipedProcess } from "../../src/main/processes/piped-process.ts";
import type { ProcessRegistry } from "../../src/main/processes/registry.ts";
import type { CaptureResult } from "../../src/shared/audio.ts";
import type { AgyError } from "../../src/shared/errors.ts";
import type { CaptureSpec, FeedSpec, LinkId } from "../../src/shared/messages.ts";
import { until } from "./condition.ts";

export type AudioStart = {
	readonly link: LinkId;
	readonly bin: string;
	readonly args: readonly string[];
	readonly cwd: string;
	readonly subject: CaptureSpec | FeedSpec;
	/** Default: what was reported is acknowledged at once. */
	readonly acknowledges?: boolean;
};

export type TimedLevel = Extract<LinkMessage, { readonly kind: "level" }> & { readonly atMs: number };

export class AudioProcess {
	readonly link: LinkId;
	readonly levels: TimedLevel[] = [];
	readonly kinds: string[] = [];
	result: CaptureResult | null = null;
	stderr = "";
	isOver = false;
	/** On performance.now(). */
	exitedAtMs = 0;
	lost: AgyError | null = null;
	readonly #lane: Lane;
	#process: PipedProcess | null = null;

	private constructor(lane: Lane, link: LinkId) {
		this.#lane = lane;
		this.link = link;
	}

	static async start(lane: Lane, registry: ProcessRegistry, start: AudioStart): Promise<AudioProcess> {
		const { link, bin, args, cwd, subject, acknowledges = true } = start;
		const audio = new AudioProcess(lane, link);
		const token = randomBytes(16).toString("hex");
		lane.open(link, token, subject, {
			receive: (message, seq) => {
				audio.#take(message);
				if (acknowledges) lane.send({ kind: "ack", link, seq });
			},
			laneLost: (error) => {
				audio.lost = error;
			},
		});
		const started = await PipedProcess.start({ bin, args, cwd, env: {}, socketPath: lane.socketPath, token }, registry);
		audio.#process = started;
		void started.exited.then((exit) => {
			audio.exitedAtMs = performance.now();
			lane.send({ kind: "process-exited", link, exit });
		});
		return audio;
	}

	interrupt(): void {
		this.#process?.interrupt();
	}

	kill(): void {
		this.signal("SIGKILL");
	}

	signal(signal: NodeJS.Signals): void {
		if (this.#process) process.kill(this.#process.identity.pid, signal);
	}

	/** Everything was reported and the process is reaped. */
	async over(): Promise<CaptureResult | null> {
		await until(
			() =>
				`the end of link ${this.link}; heard ${this.kinds.length} messages, ${this.kinds.slice(-3)}; ${this.stderr}`,
			() => this.isOver,
		);
		await this.#process?.gone;
		this.#lane.drop(this.link);
		return this.result;
	}

	/** Ends it whatever it does. */
	async close(): Promise<void> {
		await this.#process?.stop("interrupt");
		this.#lane.drop(this.link);
	}

	#take(message: LinkMessage): void {
		this.kinds.push(message.kind);
		if (message.kind === "level") this.levels.push({ ...message, atMs: performance.now() });
		else if (message.kind === "captured") this.result = message.result;
		else if (message.kind === "stderr") this.stderr += message.text;
		else if (message.kind === "output-ended") this.isOver = true;
	}
}
