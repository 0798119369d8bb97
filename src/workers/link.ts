/**
 * A lane's side of one process: its three pipes and the decoder behind stdout. Main starts the process and connects
 * the pipes; this side reads, writes and ends them, and never sees the process itself.
 *
 * 1. The link is opened by a command, before its pipes exist; what is written early waits.
 * 2. Each pipe is attached as main connects it.
 * 3. stdout is decoded chunk by chunk; above the high-water mark both output pipes are paused, below the low one resumed.
 *    A decoder that hands them to another process holds stdout while that one does not keep up.
 * 4. stdout and stderr end: the decoder is flushed, `output-ended` is reported, nothing follows. It waits for stderr, because
 *    why an agy has left stands there.
 * 5. A process that is gone may have left its pipes to something it started: they are read until they are quiet, then cut.
 * 6. `close` destroys what is left. It may come at any time and twice.
 */

import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import type { CaptureSettings } from "../shared/capture.ts";
import { DriftCounter, type DriftKind } from "../shared/drift.ts";
import type { AgyEvent } from "../shared/events.ts";
import { EOF_AFTER_EXIT_MAX_MS, EOF_AFTER_EXIT_MS, HIGH_WATER_BYTES, LOW_WATER_BYTES } from "../shared/limits.ts";
import type { LaneMessage, LinkId, LinkSubject, RejectReason, RunExit } from "../shared/messages.ts";
import { FlightRecorder } from "./flight-recorder.ts";
import type { Meter } from "./meter.ts";
import type { Outbox } from "./outbox.ts";

export type PipeName = "stdin" | "stdout" | "stderr";

/** What turns the bytes of stdout into events. */
export type Decoder = {
	/** What it reports does not grow with its input: the process is never held back for main. */
	readonly isSampling?: true;
	/** Takes ownership of `chunk`. */
	push(chunk: Buffer): void;
	end(): void;
	watchTranscript?(path: string, afterStep: number): void;
	unwatchTranscript?(): void;
	started?(pid: number): void;
	/** The process has ended and its output is read: `onEnd` once everything is reported. Without it that is so now. */
	finish?(exit: RunExit, onEnd: () => void): void;
	/** The link is dropped. */
	close?(): void;
};

/** What a capture reports, without the link, which the link adds. */
export type CaptureReport =
	| Omit<Extract<LaneMessage, { readonly kind: "level" }>, "link">
	| Omit<Extract<LaneMessage, { readonly kind: "captured" }>, "link">;

export type DecoderSink = {
	readonly link: LinkId;
	event(event: AgyEvent): void;
	/** Leaves at once. */
	capture(report: CaptureReport): void;
	/** Writes to the stdin of the link's own process, and ends it. */
	write(bytes: Uint8Array): void;
	endInput(): void;
	/** What was written and the process has not taken. 0 when it takes nothing any more. */
	readonly unwrittenBytes: number;
	/** Calls `listener` once, as soon as no more than `bytes` are unwritten. It replaces the one that waits. */
	whenWrittenTo(bytes: number, listener: () => void): void;
	/** Leaves the output of the link's own process where it is, or reads on: who takes it over does not keep up. */
	hold(isHeld: boolean): void;
	reject(reason: RejectReason, byteLength: number, sample: string): void;
	/** Something this version does not know; unknown events are counted without. */
	drift(what: DriftKind, name: string): void;
	/** Sends what did not come with a chunk. */
	flush(): void;
	/** So many bytes went into the events since, from elsewhere than stdout. */
	taken(bytes: number): void;
	/** Main does not keep up. */
	readonly isPaused: boolean;
	log(text: string): void;
};

export type DecoderFactory = (sink: DecoderSink, subject: LinkSubject | null) => Decoder;

export type LinkOptions = {
	/** The lane's: what each chunk took is recorded there. */
	readonly decodeTimes: Meter;
	readonly subject?: LinkSubject | null;
	readonly capture?: CaptureSettings | null;
};

type Rejected = { count: number; byteLength: number; readonly reason: RejectReason; readonly sample: string };

export class Link {
	readonly #id: LinkId;
	readonly #outbox: Outbox;
	readonly #decoder: Decoder;
	readonly #pipes = new Map<PipeName, Socket>();
	readonly #unsent: (string | Uint8Array)[] = [];
	#writeWait: { readonly bytes: number; readonly listener: () => void } | null = null;
	readonly #stderrText = new StringDecoder("utf8");
	/** Of stdout and stderr. */
	#openOutputs = 2;
	#inputEnding = false;
	#heldTurnEnd: AgyEvent | null = null;
	#rejected: Rejected | null = null;
	readonly #drift = new DriftCounter();
	readonly #decodeTimes: Meter;
	/** Null unless the user asked for it. */
	readonly #recorder: FlightRecorder | null;
	/** For main. */
	#paused = false;
	/** For another link. */
	#isHeld = false;
	#state: "open" | "ended" | "closed" = "open";
	#exitTimer: NodeJS.Timeout | undefined;
	#exit: RunExit | null = null;
	#isFinishing = false;
	#lastReadMs = 0;
	#bytesIn = 0;
	#pauses = 0;
	#rejectedLines = 0;

	constructor(
		id: LinkId,
		outbox: Outbox,
		createDecoder: DecoderFactory,
		{ decodeTimes, subject = null, capture = null }: LinkOptions,
	) {
		this.#id = id;
		const log = (text: string) => outbox.message({ kind: "log", level: "warn", text });
		this.#recorder = capture && new FlightRecorder(capture, id, log);
		this.#decodeTimes = decodeTimes;
		this.#outbox = outbox;
		const isPaused = () => this.#paused;
		const unwrittenBytes = () => this.#unwrittenBytes;
		this.#decoder = createDecoder(
			{
				link: id,
				event: (event) => this.#report(event),
				capture: (report) => {
					outbox.message({ ...report, link: id });
					outbox.flush();
				},
				write: (bytes) => this.write(bytes),
				endInput: () => this.endInput(),
				get unwrittenBytes() {
					return unwrittenBytes();
				},
				whenWrittenTo: (bytes, listener) => {
					this.#writeWait = { bytes, listener };
					this.#endWriteWait();
				},
				hold: (isHeld) => this.#hold(isHeld),
				reject: (reason, byteLength, sample) => this.#noteRejected(reason, byteLength, sample),
				drift: (what, name) => this.#drift.add(what, name),
				flush: () => outbox.flush(),
				taken: (bytes) => this.#endChunk(bytes),
				get isPaused() {
					return isPaused();
				},
				log,
			},
			subject,
		);
		outbox.addLink(id);
	}

	get stats(): {
		readonly bytesIn: number;
		readonly pauses: number;
		readonly paused: boolean;
		readonly rejectedLines: number;
	} {
		return { bytesIn: this.#bytesIn, pauses: this.#pauses, paused: this.#paused, rejectedLines: this.#rejectedLines };
	}

	/** Resolves when what was recorded of the link is on disk. */
	get recorded(): Promise<void> {
		return this.#recorder?.settled ?? Promise.resolve();
	}

	/** Main has connected one of the pipes. `first` is what it carried behind the preamble. */
	attach(name: PipeName, socket: Socket, first: Buffer): void {
		if (this.#state === "closed" || this.#pipes.has(name)) {
			socket.destroy();
			return;
		}
		this.#pipes.set(name, socket);
		if (name === "stdin") this.#attachStdin(socket);
		else if (name === "stdout") this.#attachStdout(socket, first);
		else this.#attachStderr(socket, first);
		if (this.#paused || (this.#isHeld && name === "stdout")) socket.pause();
	}

	write(data: string | Uint8Array): void {
		const stdin = this.#pipes.get("stdin");
		if (typeof data === "string") this.#recorder?.sent(data);
		if (stdin) this.#writeTo(stdin, data);
		else this.#unsent.push(data);
	}

	endInput(): void {
		this.#inputEnding = true;
		this.#pipes.get("stdin")?.end();
	}

	processStarted(pid: number): void {
		this.#decoder.started?.(pid);
	}

	processExited(exit: RunExit): void {
		this.#exit = exit;
		this.#recorder?.exited(exit);
		if (this.#openOutputs <= 0) this.#finish();
		this.#endWhenQuiet(performance.now() + EOF_AFTER_EXIT_MAX_MS);
	}

	watchTranscript(path: string, afterStep: number): void {
		this.#decoder.watchTranscript?.(path, afterStep);
	}

	unwatchTranscript(): void {
		this.#decoder.unwatchTranscript?.();
	}

	/** Main has consumed everything up to frame `seq`. */
	acknowledge(seq: number): void {
		this.#outbox.acknowledge(this.#id, seq);
		if (!this.#paused || this.#outbox.heldBytes(this.#id) > LOW_WATER_BYTES) return;
		this.#paused = false;
		if (!this.#isHeld) this.#pipes.get("stdout")?.resume();
		this.#pipes.get("stderr")?.resume();
	}

	close(): void {
		this.#state = "closed";
		clearTimeout(this.#exitTimer);
		this.unwatchTranscript();
		this.#decoder.close?.();
		for (const socket of this.#pipes.values()) socket.destroy();
		this.#endWriteWait();
		this.#outbox.removeLink(this.#id);
	}

	#writeTo(stdin: Socket, data: string | Uint8Array): void {
		stdin.write(data, () => this.#endWriteWait()); // A failure is told by the socket.
	}

	get #unwrittenBytes(): number {
		const stdin = this.#pipes.get("stdin");
		if (this.#state === "closed" || stdin?.destroyed) return 0;
		return this.#unsent.reduce((sum, data) => sum + data.length, stdin?.writableLength ?? 0);
	}

	#endWriteWait(): void {
		const wait = this.#writeWait;
		if (!wait || this.#unwrittenBytes > wait.bytes) return;
		this.#writeWait = null;
		wait.listener();
	}

	#hold(isHeld: boolean): void {
		this.#isHeld = isHeld;
		const stdout = this.#pipes.get("stdout");
		if (isHeld) stdout?.pause();
		else if (!this.#paused) stdout?.resume();
	}

	#attachStdin(socket: Socket): void {
		socket.on("error", (error) => {
			if (this.#state !== "open") return;
			this.#outbox.message({ kind: "input-failed", link: this.#id, message: error.message });
			this.#outbox.flush();
		});
		socket.on("close", () => this.#endWriteWait());
		socket.resume(); // Nothing comes this way; reading is how the other end's close is noticed.
		for (const data of this.#unsent.splice(0)) this.#writeTo(socket, data);
		if (this.#inputEnding) socket.end();
	}

	#attachStdout(socket: Socket, first: Buffer): void {
		socket.on("data", (chunk) => this.#decode(chunk));
		socket.on("error", () => {}); // A reset by a killed process; `close` follows and ends the output.
		socket.on("end", () => socket.destroy());
		socket.on("close", () => this.#endStdout());
		if (first.length > 0) this.#decode(first);
	}

	#attachStderr(socket: Socket, first: Buffer): void {
		socket.on("data", (chunk) => this.#reportStderr(chunk));
		socket.on("error", () => {}); // As on stdout.
		socket.on("end", () => socket.destroy());
		socket.on("close", () => this.#endOutput());
		if (first.length > 0) this.#reportStderr(first);
	}

	/**
	 * A turn's end waits until what stderr holds at this moment has been read: a notice there can change what it means,
	 * and the two pipes have no order between them.
	 */
	#report(event: AgyEvent): void {
		this.#releaseTurnEnd();
		if (event.kind === "unknown") this.#drift.add(event.what, event.name);
		if (event.kind !== "turn-end") {
			this.#outbox.event(this.#id, event);
			return;
		}
		this.#reportDrift();
		this.#heldTurnEnd = event;
		// Twice: the first may come before the pipes have been looked at again.
		setImmediate(() =>
			setImmediate(() => {
				this.#releaseTurnEnd();
				this.#endChunk(0);
			}),
		);
	}

	#releaseTurnEnd(): void {
		const event = this.#heldTurnEnd;
		if (event && this.#state !== "closed") this.#outbox.event(this.#id, event);
		if (event?.kind === "turn-end") this.#recorder?.turnEnded(event.status);
		this.#heldTurnEnd = null;
	}

	#decode(chunk: Buffer): void {
		if (this.#state !== "open") return;
		this.#bytesIn += chunk.length;
		this.#recorder?.received("out", chunk);
		const startMs = performance.now();
		const bytes = this.#decoder.isSampling ? 0 : chunk.length;
		this.#decoder.push(chunk);
		const endMs = performance.now();
		this.#decodeTimes.record(endMs - startMs);
		this.#endChunk(bytes, endMs);
	}

	#reportStderr(chunk: Buffer): void {
		if (this.#state === "closed") return;
		this.#recorder?.received("err", chunk);
		const text = this.#stderrText.write(chunk);
		if (text) this.#outbox.message({ kind: "stderr", link: this.#id, text });
		this.#endChunk(chunk.length);
	}

	#endStdout(): void {
		if (this.#state !== "open") return;
		this.#decoder.end();
		this.#reportRejected();
		this.#outbox.flush();
		this.#endOutput();
	}

	/** A link that is paused has more to read. */
	#endWhenQuiet(latestMs: number): void {
		this.#exitTimer = setTimeout(() => {
			const now = performance.now();
			const isQuiet = now - this.#lastReadMs >= EOF_AFTER_EXIT_MS || now >= latestMs;
			if (this.#paused || this.#isHeld || !isQuiet) this.#endWhenQuiet(latestMs);
			else this.#cutOutput();
		}, EOF_AFTER_EXIT_MS);
	}

	#cutOutput(): void {
		for (const name of ["stdout", "stderr"] as const) this.#pipes.get(name)?.destroy();
		// A pipe that never came does not end either.
		for (const name of ["stdout", "stderr"] as const) if (!this.#pipes.has(name)) this.#endOutput();
	}

	#endOutput(): void {
		if (--this.#openOutputs > 0 || this.#state !== "open") return;
		clearTimeout(this.#exitTimer);
		if (!this.#decoder.finish) this.#end();
		else if (this.#exit !== null) this.#finish();
	}

	/** What the process left elsewhere than in its output is read too. */
	#finish(): void {
		if (this.#isFinishing || this.#exit === null || this.#state !== "open") return;
		this.#isFinishing = true;
		this.#decoder.finish?.(this.#exit, () => this.#end());
	}

	#end(): void {
		if (this.#state !== "open") return;
		this.#releaseTurnEnd();
		this.#reportDrift();
		this.#recorder?.turnEnded(null);
		this.#state = "ended";
		this.#outbox.message({ kind: "output-ended", link: this.#id });
		this.#outbox.flush();
	}

	#endChunk(bytes: number, nowMs = performance.now()): void {
		this.#lastReadMs = nowMs;
		this.#reportRejected();
		this.#outbox.endChunk(this.#id, bytes, nowMs);
		if (this.#paused || this.#outbox.heldBytes(this.#id) < HIGH_WATER_BYTES) return;
		this.#paused = true;
		this.#pauses++;
		this.#pipes.get("stdout")?.pause();
		this.#pipes.get("stderr")?.pause();
	}

	#noteRejected(reason: RejectReason, byteLength: number, sample: string): void {
		this.#rejectedLines++;
		if (this.#rejected) {
			this.#rejected.count++;
			this.#rejected.byteLength += byteLength;
		} else {
			this.#rejected = { count: 1, byteLength, reason, sample };
		}
	}

	#reportDrift(): void {
		if (this.#drift.isEmpty) return;
		this.#outbox.message({ kind: "drift", link: this.#id, shapes: this.#drift.take() });
	}

	#reportRejected(): void {
		if (!this.#rejected) return;
		this.#outbox.message({ kind: "lines-rejected", link: this.#id, ...this.#rejected });
		this.#rejected = null;
	}
}
