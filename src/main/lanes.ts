/**
 * The worker lanes: long-lived Piscina tasks, each with a data port for frames and a control port for rare requests.
 * The only piscina import.
 *
 * A lane: starting -> up -> ended. It ends when main closes it, or crashes: the thread died, broke the contract or never
 * said hello. A crash is told to every link on it once; the next link gets a new lane, until there were three crashes
 * within a minute: then the lanes of this kind stay down and say why. Nothing falls back to the main thread. An audio lane
 * without a link is closed after a while.
 */

import { randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { MessageChannel, type MessagePort, type Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import type { CaptureSettings } from "../shared/capture.ts";
import type { DriftCounter } from "../shared/drift.ts";
import { AgyError, fromPlainError, toError } from "../shared/errors.ts";
import { decode, encode } from "../shared/frames.ts";
import type { LaneControl, LaneEnd, LaneKind, LaneStart, LaneStats } from "../shared/lane-control.ts";
import {
	AUDIO_LANE_IDLE_MS,
	CONTRACT_VERSION,
	CONTROL_TIMEOUT_MS,
	CRASH_WINDOW_MS,
	LANE_START_TIMEOUT_MS,
	LINKS_PER_LANE,
	MAX_CRASHES,
	MAX_DECODE_LANES,
} from "../shared/limits.ts";
import {
	type Frame,
	isMessageFrame,
	type LaneCommand,
	type LaneMessage,
	type LinkId,
	type LinkSubject,
} from "../shared/messages.ts";
import { connect } from "../shared/rpc.ts";
import type { LogWriter } from "./log.ts";

/** What a lane reports about one link. */
export type LinkMessage = Extract<LaneMessage, { readonly link: LinkId }>;

export type LinkReceiver = {
	/** `seq` is what to acknowledge once the message has been consumed. Must not throw. */
	receive(message: LinkMessage, seq: number): void;
	/** The lane is gone; nothing follows. */
	laneLost(error: AgyError): void;
};

export type LanePoolOptions = {
	/** Thread entry per kind of lane. */
	readonly workerUrls: Readonly<Record<LaneKind, URL>>;
	/** Private directory for the lanes' sockets; it must exist. */
	readonly socketDir: string;
	readonly maxDecodeLanes?: number;
	/** What agy said that this version does not know is counted here. */
	readonly drift?: DriftCounter;
	/** Record the turns of agy's links. Default: not. */
	readonly capture?: CaptureSettings | null;
	readonly log: LogWriter;
};

/** One lane, as it is for who wants to know. */
export type LaneReport = {
	readonly kind: LaneKind;
	/** Unique in the pool, in the order they were started. */
	readonly number: number;
	readonly links: number;
	/** Null when the lane does not answer. */
	readonly stats: LaneStats | null;
};

/** What a kind of lane has been through. */
export type LaneHistory = {
	readonly started: number;
	readonly crashes: number;
	/** Why no lane of the kind is started any more; null while they are. */
	readonly down: string | null;
};

/** In milliseconds, of the tasks of Piscina: a lane is one, and counts when it has ended. */
export type TaskTimes = {
	readonly wait: { readonly meanMs: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
	readonly run: { readonly meanMs: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
};

export class LanePool {
	readonly #options: LanePoolOptions;
	readonly #pool: Piscina;
	readonly #lanes = new Set<Lane>();
	readonly #maxLanes: Readonly<Record<LaneKind, number>>;
	readonly #crashTimes: Record<LaneKind, readonly number[]> = { decode: [], poll: [], audio: [] };
	readonly #down = new Map<LaneKind, AgyError>();
	readonly #started: Record<LaneKind, number> = { decode: 0, poll: 0, audio: 0 };
	readonly #crashed: Record<LaneKind, number> = { decode: 0, poll: 0, audio: 0 };
	#laneCount = 0;
	#linkCount = 0;
	#closing: Promise<void> | null = null;

	constructor(options: LanePoolOptions) {
		this.#options = options;
		const decode = options.maxDecodeLanes ?? Math.max(1, Math.min(MAX_DECODE_LANES, availableParallelism() - 1));
		this.#maxLanes = { decode, poll: 1, audio: 1 };
		this.#pool = new Piscina({
			minThreads: 0,
			maxThreads: decode + this.#maxLanes.poll + this.#maxLanes.audio,
			concurrentTasksPerWorker: 1,
			atomics: "disabled",
			execArgv: ["--disable-warning=ExperimentalWarning"], // Type stripping on Node 22 would warn on pi's terminal.
		});
		this.#pool.on("error", (error: unknown) => options.log("error", `lane pool: ${toError(error).message}`));
	}

	/** Those that start or are up. */
	get lanes(): readonly Lane[] {
		return [...this.#lanes];
	}

	/** The threads behind the lanes. */
	get threads(): readonly Worker[] {
		return this.#pool.threads;
	}

	get crashes(): number {
		return Object.values(this.#crashed).reduce((sum, count) => sum + count, 0);
	}

	/** By kind. */
	get history(): Readonly<Record<LaneKind, LaneHistory>> {
		const historyOf = (kind: LaneKind) => ({
			started: this.#started[kind],
			crashes: this.#crashed[kind],
			down: this.#down.get(kind)?.message ?? null,
		});
		return { decode: historyOf("decode"), poll: historyOf("poll"), audio: historyOf("audio") };
	}

	get taskTimes(): TaskTimes {
		const { waitTime, runTime } = this.#pool.histogram;
		const timesOf = ({ mean, p50, p99, max }: typeof waitTime) => ({
			meanMs: mean,
			p50Ms: p50,
			p99Ms: p99,
			maxMs: max,
		});
		return { wait: timesOf(waitTime), run: timesOf(runTime) };
	}

	/** A number that no other link of the process has. */
	nextLinkId(): LinkId {
		return ++this.#linkCount;
	}

	/** The least busy lane that is up; starts another one when all are busy. Throws `lane-down` or `worker-crashed`. */
	async acquire(kind: LaneKind): Promise<Lane> {
		if (this.#closing) throw new AgyError("lane-down", "The worker lanes are shut down.");
		const down = this.#down.get(kind);
		if (down) throw down;
		const lanes = [...this.#lanes]
			.filter((lane) => lane.kind === kind && !lane.isClosing)
			.sort((a, b) => a.load - b.load);
		const [idlest] = lanes;
		const lane =
			idlest && (idlest.load < LINKS_PER_LANE || lanes.length >= this.#maxLanes[kind]) ? idlest : this.#startLane(kind);
		await lane.waitUntilUp();
		return lane;
	}

	/** Has a lane started while the caller is still busy with other things. */
	warmUp(kind: LaneKind): void {
		if (![...this.#lanes].some((lane) => lane.kind === kind && !lane.isClosing)) this.acquire(kind).catch(() => {}); // Whoever needs the lane is told.
	}

	/** Of the lanes that answer. */
	async stats(): Promise<readonly LaneStats[]> {
		return (await this.report()).flatMap(({ stats }) => stats ?? []);
	}

	/** Every lane, answering or not. Never rejects; takes as long as a control call may. */
	async report(): Promise<readonly LaneReport[]> {
		return Promise.all(
			[...this.#lanes].map(async (lane) => ({
				kind: lane.kind,
				number: lane.number,
				links: lane.linkCount,
				stats: await lane.control.stats().catch(() => null), // It hangs or is ending: that is what is reported.
			})),
		);
	}

	/** Closes every lane and the pool. Links must have been closed before. */
	close(): Promise<void> {
		this.#closing ??= (async () => {
			await Promise.all([...this.#lanes].map((lane) => lane.close()));
			await this.#pool.destroy();
		})();
		return this.#closing;
	}

	#startLane(kind: LaneKind): Lane {
		const number = ++this.#laneCount;
		this.#started[kind]++;
		const lane = new Lane({
			kind,
			number,
			pool: this.#pool,
			workerUrl: this.#options.workerUrls[kind],
			socketPath: socketPathOf(this.#options.socketDir, number),
			idleMs: kind === "audio" ? AUDIO_LANE_IDLE_MS : null,
			drift: this.#options.drift ?? null,
			capture: kind === "audio" ? null : (this.#options.capture ?? null),
			log: this.#options.log,
		});
		this.#lanes.add(lane);
		void lane.ended.then((end) => {
			this.#lanes.delete(lane);
			if (end.code === "worker-crashed") this.#noteCrash(kind, end);
		});
		return lane;
	}

	#noteCrash(kind: LaneKind, error: AgyError): void {
		this.#crashed[kind]++;
		this.#options.log("error", error.message, { event: "lane-crash", kind });
		const now = performance.now(); // Not the clock of the day, which jumps.
		const times = [...this.#crashTimes[kind].filter((time) => now - time < CRASH_WINDOW_MS), now];
		this.#crashTimes[kind] = times;
		if (times.length < MAX_CRASHES) return;
		this.#down.set(
			kind,
			new AgyError(
				"lane-down",
				`The worker threads of pi-agy (${kind}) crashed ${MAX_CRASHES} times within a minute and stay down. Last: ${error.message} Run /reload to try again.`,
				{ cause: error },
			),
		);
	}
}

type LaneOptions = {
	readonly kind: LaneKind;
	readonly number: number;
	readonly pool: Piscina;
	readonly workerUrl: URL;
	readonly socketPath: string;
	/** How long it stays without a link; null for ever. */
	readonly idleMs: number | null;
	readonly drift: DriftCounter | null;
	readonly capture: CaptureSettings | null;
	readonly log: LogWriter;
};

export class Lane {
	readonly kind: LaneKind;
	readonly number: number;
	readonly socketPath: string;
	/** Of the thread that it runs on; null before it is up. */
	threadId: number | null = null;
	readonly control: {
		readonly [K in keyof LaneControl]: (...args: Parameters<LaneControl[K]>) => Promise<ReturnType<LaneControl[K]>>;
	};
	/** Resolves once the lane listens; rejects when it ended before. */
	readonly up: Promise<void>;
	/** Why it ended: `lane-down` when it was closed, else `worker-crashed`. */
	readonly ended: Promise<AgyError>;
	readonly #data: MessagePort;
	readonly #controlPort: MessagePort;
	readonly #receivers = new Map<LinkId, LinkReceiver>();
	readonly #drift: DriftCounter | null;
	readonly #capture: CaptureSettings | null;
	readonly #log: LogWriter;
	#end: (reason: AgyError) => void = () => {};
	readonly #task: Promise<void>;
	/** Callers of acquire that wait for the start and will each open a link. */
	#waiting = 0;
	#outgoing: LaneCommand[] = [];
	#seq = 0;
	readonly #idleMs: number | null;
	#idleTimer: NodeJS.Timeout | undefined;
	#isClosing = false;

	constructor(options: LaneOptions) {
		this.kind = options.kind;
		this.number = options.number;
		this.#drift = options.drift;
		this.#capture = options.capture;
		this.#idleMs = options.idleMs;
		this.socketPath = options.socketPath;
		this.#log = options.log;
		const data = new MessageChannel();
		const control = new MessageChannel();
		this.#data = data.port1;
		this.#controlPort = control.port1;
		this.ended = new Promise((resolve) => {
			this.#end = resolve;
		});
		void this.ended.then((reason) => this.#finish(reason));
		this.control = connect<LaneControl>(this.#controlPort, { timeoutMs: CONTROL_TIMEOUT_MS, ended: this.ended });
		const start: LaneStart = {
			contractVersion: CONTRACT_VERSION,
			kind: options.kind,
			socketPath: options.socketPath,
			data: data.port2,
			control: control.port2,
		};
		this.#data.on("message", (bytes: Uint8Array) => this.#receive(bytes));
		this.#task = options.pool
			.run(start, { filename: options.workerUrl.href, transferList: [data.port2, control.port2] })
			.then(
				(end: LaneEnd) =>
					this.#end(end.ok ? this.#closedReason() : this.#crashReason(fromPlainError(end.error, "worker-crashed"))),
				(error: unknown) => this.#end(this.#crashReason(toError(error))),
			);
		this.up = this.#sayHello();
		this.up.catch(() => {}); // `acquire` awaits it; a lane that nobody awaits any more has nobody to tell.
		this.#closeWhenIdle();
	}

	get isClosing(): boolean {
		return this.#isClosing;
	}

	get linkCount(): number {
		return this.#receivers.size;
	}

	/** Its links and those about to be opened: a fan-out of sessions comes while the lane still starts. */
	get load(): number {
		return this.#receivers.size + this.#waiting;
	}

	async waitUntilUp(): Promise<void> {
		this.#waiting++;
		try {
			await this.up;
		} finally {
			this.#waiting--;
		}
	}

	/**
	 * From here on `receiver` gets what the lane reports about `link`. `token` names the link to its pipes.
	 */
	open(link: LinkId, token: string, subject: LinkSubject | null, receiver: LinkReceiver): void {
		this.#receivers.set(link, receiver);
		this.send({ kind: "open", link, token, subject, capture: this.#capture });
	}

	/** Forgets the link. Nothing more is delivered. */
	drop(link: LinkId): void {
		if (!this.#receivers.delete(link)) return;
		this.send({ kind: "drop", link });
		this.#closeWhenIdle();
	}

	/** Commands given in one turn of the event loop leave as one frame, in order. */
	send(command: LaneCommand): void {
		if (this.#outgoing.push(command) === 1) queueMicrotask(() => this.#flush());
	}

	async close(): Promise<void> {
		this.#isClosing = true;
		const ending = this.#task;
		await this.control.close().catch((error: unknown) => this.#end(this.#crashReason(toError(error)))); // It hangs: the pool ends its thread.
		await Promise.race([ending, this.ended]);
	}

	async #sayHello(): Promise<void> {
		const control = connect<Pick<LaneControl, "hello">>(this.#controlPort, {
			timeoutMs: LANE_START_TIMEOUT_MS,
			ended: this.ended,
		});
		try {
			this.threadId = (await control.hello()).threadId;
		} catch (error) {
			const reason = this.#crashReason(toError(error));
			this.#end(reason);
			throw reason;
		}
	}

	/** Every link that goes starts the time anew; whoever waits for the lane will open another. */
	#closeWhenIdle(): void {
		if (this.#idleMs === null || this.load > 0) return;
		clearTimeout(this.#idleTimer);
		this.#idleTimer = setTimeout(() => this.load === 0 && void this.close(), this.#idleMs).unref();
	}

	#receive(bytes: Uint8Array): void {
		const frame = decodeFrame(bytes);
		if (frame === null) {
			this.#end(this.#crashReason(new AgyError("bad-frame", "the lane sent something that is no frame")));
			return;
		}
		for (const message of frame.messages) {
			if (message.kind === "log") {
				this.#log(message.level, message.text);
				continue;
			}
			if (message.kind === "drift")
				for (const { what, name, count } of message.shapes) this.#drift?.add(what, name, count);
			if (message.kind === "lines-rejected") this.#drift?.add("line", message.reason, message.count);
			this.#receivers.get(message.link)?.receive(message, frame.seq);
		}
	}

	#flush(): void {
		const messages = this.#outgoing;
		this.#outgoing = [];
		const packed = encode({ seq: ++this.#seq, messages });
		this.#data.postMessage(packed, [packed.buffer]);
	}

	#finish(reason: AgyError): void {
		const receivers = [...this.#receivers.values()];
		this.#receivers.clear();
		for (const receiver of receivers) receiver.laneLost(reason);
		clearTimeout(this.#idleTimer);
		this.#data.close();
		this.#controlPort.close();
	}

	#closedReason(): AgyError {
		if (this.#isClosing) return new AgyError("lane-down", "The worker lane was closed.");
		return this.#crashReason(new Error("the task ended without being asked to"));
	}

	#crashReason(cause: Error): AgyError {
		if (cause instanceof AgyError && cause.code === "worker-crashed") return cause;
		if (this.#isClosing) return new AgyError("lane-down", "The worker lane was closed.", { cause });
		return new AgyError(
			"worker-crashed",
			`${CRASHED[this.kind][0]} crashed (${cause.message}). ${CRASHED[this.kind][1]}`,
			{ cause },
		);
	}
}

const READER_CRASHED = [
	"The worker thread that reads agy's output",
	"The next prompt starts a new one and resumes the conversation.",
] as const;
/** Which thread it was, and what becomes of it. */
const CRASHED: Readonly<Record<LaneKind, readonly [string, string]>> = {
	decode: READER_CRASHED,
	poll: READER_CRASHED,
	audio: ["The worker thread that listens to the recorder", "Record again: that starts a new one."],
};

function decodeFrame(bytes: Uint8Array): Frame<LaneMessage> | null {
	try {
		const frame = decode(bytes);
		return isMessageFrame(frame) ? frame : null;
	} catch {
		return null; // Torn bytes; the caller ends the lane for it.
	}
}

function socketPathOf(directory: string, laneNumber: number): string {
	if (process.platform === "win32") return String.raw`\\.\pipe\pi-agy-${randomUUID()}`;
	return join(directory, `${laneNumber}.sock`);
}
