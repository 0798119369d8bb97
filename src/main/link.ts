/**
 * A link: one agy process with its lane behind it, as a turn sees it. Engine-neutral; link-pool.ts keeps links across turns.
 *
 * Life: running (it belongs to a turn) -> idle -> running ... -> closing -> closed. It closes because its profile changed,
 * its turn was given up, it idled out, it was the least recently used of too many, or its process or lane ended.
 * What it is told is delivered in order, one message at a time; while a consumer is not done with one, the rest stays
 * unacknowledged and the lane holds the process back.
 */

import { randomBytes } from "node:crypto";
import { AgyError, toError } from "../shared/errors.ts";
import type { AgyEvent } from "../shared/events.ts";
import { STDERR_TAIL_CHARS } from "../shared/limits.ts";
import type { LinkId } from "../shared/messages.ts";
import type { Engine, Profile } from "./engines/engine.ts";
import type { Lane, LanePool, LinkMessage } from "./lanes.ts";
import { type Exit, PipedProcess } from "./processes/piped-process.ts";
import { familyOf } from "./processes/proof.ts";
import type { ProcessRegistry } from "./processes/registry.ts";

export type LinkEnd = {
	/** How the process ended; null when it still runs or its lane was lost first. */
	readonly exit: Exit | null;
	/** Why the lane was lost; null when the process ended by itself. */
	readonly laneError: AgyError | null;
};

export type LinkConsumer = {
	/** The next message is delivered once the promise, if any, has settled. */
	receive(message: LinkMessage): void | Promise<void>;
	/** The link is over; nothing follows. Not called after `release`. */
	ended(end: LinkEnd): void;
};

type LinkState = "idle" | "running" | "draining" | "closing" | "closed";

export type LinkSpec = {
	/** Whose link it is: a pi session; null for a side request, which nobody else may join. */
	readonly sessionId: string | null;
	readonly engine: Engine;
	readonly profile: Profile;
	readonly conversationId: string | null;
	readonly env: Readonly<Record<string, string>>;
	/** What a one-shot engine is started for; null for the others. */
	readonly run: { readonly prompt: string; readonly conversationsDir: string } | null;
};

export class Link {
	readonly spec: LinkSpec;
	readonly closed: Promise<void>;
	/** agy's conversation, as `ready` or a result named it. */
	conversationId: string | null;
	/** The model that `ready` named; "" until then, and when it named none. */
	model = "";
	/** Settles when agy has said who it is, or will not any more. */
	readonly ready: Promise<void>;
	turns = 0;
	readonly openedAtMs = performance.now();
	lastUsedMs = performance.now();
	readonly #id: LinkId;
	readonly #lane: Lane;
	/** Null only while it is being started. */
	#process: PipedProcess | null = null;
	readonly #queue: { readonly message: LinkMessage; readonly seq: number }[] = [];
	#state: LinkState = "running";
	/** A prompt was written and its turn is not over. */
	#isBusy = false;
	#consumer: LinkConsumer | null = null;
	#isDelivering = false;
	#outputEnded = false;
	#exit: Exit | null = null;
	#end: LinkEnd | null = null;
	#stderrTail = "";
	#resolveClosed: () => void = () => {};
	#resolveReady: () => void = () => {};
	readonly #onNamed: (conversationId: string) => void;

	private constructor(spec: LinkSpec, id: LinkId, lane: Lane, onNamed: (conversationId: string) => void) {
		this.spec = spec;
		this.#onNamed = onNamed;
		this.conversationId = spec.conversationId;
		this.#id = id;
		this.#lane = lane;
		this.closed = new Promise((resolve) => {
			this.#resolveClosed = resolve;
		});
		this.ready = new Promise((resolve) => {
			this.#resolveReady = resolve;
		});
	}

	/**
	 * Starts agy on a lane. `onNamed` is called when agy names a conversation other than the one known so far, perhaps
	 * before this resolves. Throws what LanePool.acquire throws, and `agy-not-found`,
	 * `agy-not-executable` or `spawn-failed`.
	 */
	static async open(
		spec: LinkSpec,
		id: LinkId,
		lanes: LanePool,
		registry: ProcessRegistry,
		onNamed: (conversationId: string) => void,
	): Promise<Link> {
		const lane = await lanes.acquire(spec.engine.laneKind);
		const token = randomBytes(16).toString("hex");
		const link = new Link(spec, id, lane, onNamed);
		const run = spec.run && {
			kind: "run" as const,
			...spec.run,
			conversationId: spec.conversationId,
			workspace: spec.profile.cwd,
			startedAtMs: Date.now(),
		};
		lane.open(id, token, run, {
			receive: (message, seq) => link.#receive(message, seq),
			laneLost: (error) => link.#laneLost(error),
		});
		try {
			link.#setProcess(
				await PipedProcess.start(
					{
						bin: spec.profile.bin,
						args: spec.engine.args(spec.profile, spec.conversationId, spec.run?.prompt ?? ""),
						cwd: spec.profile.cwd,
						env: spec.env,
						socketPath: lane.socketPath,
						token,
					},
					registry,
				),
			);
			return link;
		} catch (error) {
			lane.drop(id);
			throw toStartError(error, spec.profile);
		}
	}

	get state(): LinkState {
		return this.#state;
	}

	get pid(): number | null {
		return this.#process?.identity.pid ?? null;
	}

	/** The thread that reads its output. */
	get laneThreadId(): number | null {
		return this.#lane.threadId;
	}

	/** How the process ended; null while it runs. */
	get exit(): Exit | null {
		return this.#exit;
	}

	/** The end of what agy wrote to stderr. */
	get stderrTail(): string {
		return this.#stderrTail;
	}

	/** Takes an idle link for a turn. */
	reserve(): void {
		if (this.#state === "idle") this.#state = "running";
	}

	/** Sends a prompt; `consumer` gets everything until `release` or the end. */
	submit(text: string, consumer: LinkConsumer): void {
		if (this.#state !== "running") {
			consumer.ended(this.#end ?? { exit: null, laneError: null });
			return;
		}
		this.#isBusy = true;
		this.#consumer = consumer;
		this.#stderrTail = "";
		this.turns++;
		this.#lane.send(
			this.spec.engine.isOneShot ? { kind: "end-input", link: this.#id } : { kind: "write", link: this.#id, text },
		);
		this.#deliver();
	}

	/** Sends one more prompt within the same turn of pi. */
	submitMore(text: string): void {
		this.#lane.send({ kind: "write", link: this.#id, text });
	}

	/** The turn is over and the process may take another. */
	release(): void {
		this.#consumer = null;
		this.#isBusy = false;
		this.lastUsedMs = performance.now();
		if (this.#state === "running") this.#state = "idle";
		this.#deliver();
	}

	/** Has the lane look for an answer that agy's transcript holds and stdout does not bring. */
	watchTranscript(path: string, afterStep: number): void {
		this.#lane.send({ kind: "watch-transcript", link: this.#id, path, afterStep });
	}

	unwatchTranscript(): void {
		if (this.#state !== "closed") this.#lane.send({ kind: "unwatch-transcript", link: this.#id });
	}

	/** Whether anything that agy started is still running. */
	async hasRunningCommands(): Promise<boolean> {
		return this.#process !== null && (await familyOf(this.#process.identity.pid)).length > 1;
	}

	/** Lets the process end by itself when what it left running is done. It takes no prompt any more; `close` still works. */
	drain(): void {
		if (this.#state !== "running") return;
		this.#state = "draining";
		this.#consumer = null;
		this.#lane.send({ kind: "end-input", link: this.#id });
		this.#deliver();
	}

	/** Ends the process: an idle one by closing its stdin, a busy one with an interrupt. Resolves when it is gone. */
	close(): Promise<void> {
		if (this.#state === "closing" || this.#state === "closed") return this.closed;
		const first = this.#isBusy ? "interrupt" : "eof";
		this.#state = "closing";
		this.#consumer = null;
		this.#isDelivering = false; // Nobody waits for the consumer any more, who may never be done.
		this.#lane.send({ kind: "end-input", link: this.#id });
		this.#deliver(); // Whatever a consumer held back is acknowledged, so that agy can write its last words.
		void this.#process?.stop(first);
		return this.closed;
	}

	#setProcess(process: PipedProcess): void {
		this.#process = process;
		if (!this.#end && this.spec.run)
			this.#lane.send({ kind: "process-started", link: this.#id, pid: process.identity.pid });
		void process.exited.then((exit) => this.#processExited(exit));
		if (!this.#end) return;
		void process.stop("interrupt"); // The lane was lost while agy started.
		void process.gone.then(this.#resolveClosed);
	}

	#receive(message: LinkMessage, seq: number): void {
		if (message.kind === "events") this.#noteIdentity(message.events);
		this.#queue.push({ message, seq });
		this.#deliver();
		if (message.kind !== "output-ended") return;
		this.#outputEnded = true;
		this.#checkEnd();
	}

	/** Until the first prompt everything waits: what agy says at its start, and why it leaves, is that turn's. */
	get #isUnclaimed(): boolean {
		return this.#state === "running" && this.turns === 0;
	}

	#deliver(): void {
		if (this.#isUnclaimed || (this.#isDelivering && this.#consumer)) return;
		let consumedSeq = 0;
		for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
			const { message, seq } = next;
			const pending = this.#consume(message);
			if (pending) {
				this.#isDelivering = true;
				const resume = () => {
					this.#isDelivering = false;
					this.#acknowledge(seq);
					this.#deliver();
				};
				pending.then(resume, resume);
				break;
			}
			consumedSeq = seq;
		}
		this.#acknowledge(consumedSeq);
		if (this.#end && !this.#isDelivering) this.#finish(this.#end);
	}

	#acknowledge(seq: number): void {
		if (seq > 0 && this.#state !== "closed") this.#lane.send({ kind: "ack", link: this.#id, seq });
	}

	#consume(message: LinkMessage): void | Promise<void> {
		if (message.kind === "input-failed") void this.#process?.stop("eof"); // It takes no prompt any more; its exit says why.
		if (message.kind === "stderr") this.#stderrTail = (this.#stderrTail + message.text).slice(-STDERR_TAIL_CHARS);
		return this.#consumer?.receive(message);
	}

	#processExited(exit: Exit): void {
		this.#exit = exit;
		if (this.#state !== "closed") this.#lane.send({ kind: "process-exited", link: this.#id, exit });
		this.#checkEnd();
	}

	#checkEnd(): void {
		if (this.#exit && this.#outputEnded) this.#setEnd({ exit: this.#exit, laneError: null });
	}

	#laneLost(error: AgyError): void {
		void this.#process?.stop("interrupt");
		this.#setEnd({ exit: null, laneError: error });
	}

	/** Known as soon as it arrives: whoever resumes waits for it before there is a consumer. */
	#noteIdentity(events: readonly AgyEvent[]): void {
		for (const event of events) {
			if (event.kind !== "ready" && event.kind !== "turn-end") continue;
			if (event.kind === "ready") this.model = event.model;
			this.#name(event.conversationId);
			this.#resolveReady();
		}
	}

	#name(conversationId: string): void {
		if (conversationId === "" || conversationId === this.conversationId) return;
		this.conversationId = conversationId;
		this.#onNamed(conversationId);
	}

	#setEnd(end: LinkEnd): void {
		this.#end ??= end;
		this.#resolveReady();
		this.#deliver();
	}

	#finish(end: LinkEnd): void {
		if (this.#state === "closed") return;
		const consumer = this.#consumer;
		this.#state = "closed";
		this.#consumer = null;
		this.#lane.drop(this.#id);
		this.#resolveReady();
		consumer?.ended(end);
		void this.#process?.gone.then(this.#resolveClosed);
	}
}

function toStartError(error: unknown, { bin, cwd }: Profile): AgyError {
	const code = (error as NodeJS.ErrnoException).code;
	if (code === "ENOENT") {
		return new AgyError("agy-not-found", `agy was not started: ${bin} or the folder ${cwd} does not exist.`, {
			cause: error,
		});
	}
	if (code === "EACCES" || code === "ENOEXEC") {
		return new AgyError(
			"agy-not-executable",
			`agy was not started: ${bin} is not an executable program. Check AGY_BIN.`,
			{ cause: error },
		);
	}
	return new AgyError("spawn-failed", `agy was not started: ${toError(error).message}`, { cause: error });
}
