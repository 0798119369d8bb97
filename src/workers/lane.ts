/**
 * What every lane does with its links, whatever decodes their bytes: the two ports, the listening socket on which main
 * connects the pipes of the processes it starts, commands, frames, the end.
 *
 * 1. The task starts, checks the contract version and listens.
 * 2. `hello` on the control port answers once it listens.
 * 3. Commands open links; pipes arrive, each with a one-line preamble that says whose they are.
 * 4. `close` on the control port, or the data port closing because main is gone, ends the task. Nothing outlives it.
 */

import { createServer, type Server, type Socket } from "node:net";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { threadId } from "node:worker_threads";
import { AgyError, assertNever, toPlainError } from "../shared/errors.ts";
import { decode, encode } from "../shared/frames.ts";
import type { LaneControl, LaneEnd, LaneStart, LaneStats } from "../shared/lane-control.ts";
import { CONTRACT_VERSION, LOOP_DELAY_INTERVAL_MS } from "../shared/limits.ts";
import { type Frame, isCommandFrame, type LaneCommand, type LaneMessage, type LinkId } from "../shared/messages.ts";
import { serve } from "../shared/rpc.ts";
import { toTiming } from "../shared/timing.ts";
import { type DecoderFactory, Link, type PipeName } from "./link.ts";
import { Meter } from "./meter.ts";
import { Outbox } from "./outbox.ts";

const PREAMBLE_MAX_BYTES = 256;
const LF = 0x0a;
const NS_PER_MS = 1_000_000;

/** Runs a lane until it is closed. Resolves with its end; a broken contract is an end, not a throw. */
export function runLane(start: LaneStart, createDecoder: DecoderFactory): Promise<LaneEnd> {
	process.emitWarning = () => {}; // A worker's warnings would reach the terminal, which pi owns.
	if (start.contractVersion !== CONTRACT_VERSION) {
		const message = `This worker speaks contract ${CONTRACT_VERSION}, the extension ${start.contractVersion}. Rebuild or reinstall pi-agy.`;
		return Promise.resolve({ ok: false, error: toPlainError(new AgyError("bad-frame", message)) });
	}
	return new Promise((resolve) => new Lane(start, createDecoder, resolve));
}

class Lane {
	readonly #start: LaneStart;
	readonly #createDecoder: DecoderFactory;
	readonly #resolve: (end: LaneEnd) => void;
	readonly #links = new Map<LinkId, Link>();
	readonly #tokens = new Map<string, LinkId>();
	readonly #outbox: Outbox;
	readonly #server: Server;
	readonly #listening: Promise<void>;
	readonly #decodeTimes = new Meter();
	/** Runs while there are links: an idle lane sleeps. */
	readonly #loopDelay = monitorEventLoopDelay({ resolution: LOOP_DELAY_INTERVAL_MS });
	#utilization = performance.eventLoopUtilization();
	#closedStats = { bytesIn: 0, pauses: 0, rejectedLines: 0 };
	/** What is still being written of links that are gone: the thread stays until it is. */
	readonly #recordings = new Set<Promise<void>>();
	#ended = false;

	constructor(start: LaneStart, createDecoder: DecoderFactory, resolve: (end: LaneEnd) => void) {
		this.#start = start;
		this.#createDecoder = createDecoder;
		this.#resolve = resolve;
		this.#outbox = new Outbox((frame) => this.#post(frame));
		this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: false }, (socket) => this.#accept(socket));
		this.#listening = new Promise((listening, fail) => {
			this.#server.once("error", fail);
			this.#server.listen(start.socketPath, listening);
		});
		this.#listening.catch((error: unknown) => this.#end({ ok: false, error: toPlainError(error) }));
		start.data.on("message", (bytes: Uint8Array) => this.#receive(bytes));
		start.data.on("close", () => this.#end({ ok: true }));
		serve(start.control, this.#control());
	}

	#control(): { readonly [K in keyof LaneControl]: (...args: Parameters<LaneControl[K]>) => unknown } {
		return {
			hello: async () => {
				await this.#listening;
				return { contractVersion: CONTRACT_VERSION, threadId };
			},
			stats: () => this.#stats(),
			setTickMs: (tickMs) => {
				this.#outbox.setTickMs(tickMs);
				return null;
			},
			close: () => {
				setImmediate(() => this.#end({ ok: true })); // After the answer has left.
				return null;
			},
		};
	}

	#receive(bytes: Uint8Array): void {
		try {
			const frame = decode(bytes);
			if (!isCommandFrame(frame))
				throw new AgyError("bad-frame", "The lane received something that is no command frame.");
			for (const command of frame.messages) this.#obey(command);
		} catch (error) {
			this.#end({ ok: false, error: toPlainError(error) });
		}
	}

	#obey(command: LaneCommand): void {
		switch (command.kind) {
			case "open":
				this.#links.set(
					command.link,
					new Link(command.link, this.#outbox, this.#createDecoder, {
						decodeTimes: this.#decodeTimes,
						subject: command.subject,
						capture: command.capture,
					}),
				);
				this.#loopDelay.enable();
				this.#tokens.set(command.token, command.link);
				return;
			case "write":
				this.#links.get(command.link)?.write(command.text);
				return;
			case "end-input":
				this.#links.get(command.link)?.endInput();
				return;
			case "process-started":
				this.#links.get(command.link)?.processStarted(command.pid);
				return;
			case "process-exited":
				this.#links.get(command.link)?.processExited(command.exit);
				return;
			case "ack":
				this.#links.get(command.link)?.acknowledge(command.seq);
				return;
			case "watch-transcript":
				this.#links.get(command.link)?.watchTranscript(command.path, command.afterStep);
				return;
			case "unwatch-transcript":
				this.#links.get(command.link)?.unwatchTranscript();
				return;
			case "drop":
				this.#drop(command.link);
				return;
			default:
				assertNever(command);
		}
	}

	#drop(id: LinkId): void {
		const link = this.#links.get(id);
		if (!link) return;
		const { bytesIn, pauses, rejectedLines } = link.stats;
		this.#closedStats.bytesIn += bytesIn;
		this.#closedStats.pauses += pauses;
		this.#closedStats.rejectedLines += rejectedLines;
		link.close();
		const recording = link.recorded.then(() => void this.#recordings.delete(recording));
		this.#recordings.add(recording);
		this.#links.delete(id);
		if (this.#links.size === 0) this.#loopDelay.disable();
		for (const [token, owner] of this.#tokens) if (owner === id) this.#tokens.delete(token);
	}

	/** Reads `<token> <pipe>\n` and hands the pipe to its link; anything else is cut off. */
	#accept(socket: Socket): void {
		let held: Buffer = Buffer.alloc(0);
		socket.on("error", () => {}); // A peer that vanishes before it has said who it is is nobody's.
		const onData = (chunk: Buffer) => {
			held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
			const end = held.indexOf(LF);
			if (end === -1) {
				if (held.length > PREAMBLE_MAX_BYTES) socket.destroy();
				return;
			}
			socket.off("data", onData);
			const [token = "", pipe = ""] = held.toString("latin1", 0, end).split(" ");
			const link = this.#links.get(this.#tokens.get(token) ?? -1);
			if (link && isPipeName(pipe)) link.attach(pipe, socket, held.subarray(end + 1));
			else socket.destroy();
		};
		socket.on("data", onData);
	}

	#post(frame: Frame<LaneMessage>): void {
		const packed = encode(frame);
		this.#start.data.postMessage(packed, [packed.buffer]);
	}

	#stats(): LaneStats {
		const before = this.#utilization;
		this.#utilization = performance.eventLoopUtilization();
		const links = [...this.#links.values()].map((link) => link.stats);
		const sum = (of: "bytesIn" | "pauses" | "rejectedLines") =>
			links.reduce((total, link) => total + link[of], this.#closedStats[of]);
		return {
			threadId,
			links: links.length,
			...this.#outbox.stats(),
			bytesIn: sum("bytesIn"),
			pausedLinks: links.filter((link) => link.paused).length,
			pauses: sum("pauses"),
			rejectedLines: sum("rejectedLines"),
			utilization: performance.eventLoopUtilization(this.#utilization, before).utilization,
			decode: this.#decodeTimes.timing,
			loopDelay: toTiming(this.#loopDelay, NS_PER_MS, LOOP_DELAY_INTERVAL_MS),
		};
	}

	#end(end: LaneEnd): void {
		if (this.#ended) return;
		this.#ended = true;
		for (const id of [...this.#links.keys()]) this.#drop(id);
		this.#outbox.close();
		this.#server.close();
		this.#start.data.close();
		this.#start.control.close();
		void Promise.all(this.#recordings).then(() => this.#resolve(end));
	}
}

function isPipeName(name: string): name is PipeName {
	return name === "stdin" || name === "stdout" || name === "stderr";
}
