/**
 * One capture: ffmpeg on the audio lane, and the recorder that feeds it where one is configured. Main starts and stops the
 * processes and sees no sound: levels come from the lane, and at the end the encoded file in base64.
 *
 * recording -> ending -> ended. `stop` lets ffmpeg finish its file, `cancel` and `fail` do not wait for it; all end in
 * `ended`, which never rejects and comes when no process is left. The file is its starter's to remove.
 */

import { randomBytes } from "node:crypto";
import type { AudioContainer, CaptureResult, Level } from "../../shared/audio.ts";
import { STDERR_TAIL_CHARS } from "../../shared/limits.ts";
import type { LinkId, LinkSubject } from "../../shared/messages.ts";
import { settlesWithin } from "../deadline.ts";
import type { Lane, LanePool, LinkMessage } from "../lanes.ts";
import { type Exit, PipedProcess } from "../processes/piped-process.ts";
import type { ProcessRegistry } from "../processes/registry.ts";

/** ffmpeg writes its last page within a tenth of a second of the end of its input. */
const FINISH_GRACE_MS = 2_000;

export type CaptureSpec = {
	readonly ffmpeg: string;
	readonly args: readonly string[];
	/** Program and arguments that write sound to ffmpeg's stdin; empty when ffmpeg records by itself. */
	readonly recorder: readonly string[];
	readonly path: string;
	readonly container: AudioContainer;
	readonly env: Readonly<Record<string, string>>;
	readonly onLevel: (level: Level, capturedMs: number) => void;
};

export type CaptureEnd = {
	/** Null when the lane was lost. */
	readonly result: CaptureResult | null;
	readonly exit: Exit | null;
	/** The end of what ffmpeg and the recorder wrote to stderr. */
	readonly stderr: string;
	/** Why nothing of it may be used: the lane was lost, or it was given up (`fail`). Null when it may. */
	readonly failure: Error | null;
};

export class Capture {
	readonly ended: Promise<CaptureEnd>;
	readonly #spec: CaptureSpec;
	readonly #lane: Lane;
	readonly #links: LinkId[] = [];
	#ffmpeg: PipedProcess | null = null;
	#recorder: PipedProcess | null = null;
	#result: CaptureResult | null = null;
	#exit: Exit | null = null;
	#stderr = "";
	#failure: Error | null = null;
	#isLaneLost = false;
	readonly #outputEnded = Promise.withResolvers<void>();

	private constructor(spec: CaptureSpec, lane: Lane) {
		this.#spec = spec;
		this.#lane = lane;
		this.ended = this.#outputEnded.promise.then(() => this.#finish());
	}

	/** Rejects with what the system says about the program, or an AgyError of the lane; nothing is left running then. */
	static async start(spec: CaptureSpec, lanes: LanePool, registry: ProcessRegistry): Promise<Capture> {
		const capture = new Capture(spec, await lanes.acquire("audio"));
		const { ffmpeg, args, recorder, path, container } = spec;
		const id = lanes.nextLinkId();
		try {
			capture.#ffmpeg = await capture.#launch(id, { kind: "capture", path, container }, ffmpeg, args, registry);
			const [program, ...programArgs] = recorder;
			if (program !== undefined) {
				const feed: LinkSubject = { kind: "feed", into: id };
				capture.#recorder = await capture.#launch(lanes.nextLinkId(), feed, program, programArgs, registry);
			}
			return capture;
		} catch (error) {
			await capture.#ffmpeg?.stop("interrupt");
			capture.#dropLinks();
			throw error;
		}
	}

	/** The recorder stops listening and ffmpeg finishes its file. */
	async stop(): Promise<CaptureEnd> {
		if (this.#recorder === null) void this.#ffmpeg?.stop("interrupt");
		else {
			void this.#recorder.stop("interrupt-all");
			if (!(await settlesWithin(this.ended, FINISH_GRACE_MS))) void this.#ffmpeg?.stop("interrupt");
		}
		return this.ended;
	}

	/** Nothing of it is wanted any more. */
	async cancel(): Promise<void> {
		this.#endProcesses();
		await this.ended;
	}

	/** Gives it up for a reason that `ended` tells. Nothing when it has ended or was given up before. */
	fail(reason: Error): void {
		this.#failure ??= reason;
		this.#endProcesses();
	}

	async #launch(
		id: LinkId,
		subject: LinkSubject,
		bin: string,
		args: readonly string[],
		registry: ProcessRegistry,
	): Promise<PipedProcess> {
		const token = randomBytes(16).toString("hex");
		const isCapture = subject.kind === "capture";
		this.#links.push(id);
		this.#lane.open(id, token, subject, {
			receive: (message, seq) => this.#receive(message, seq, isCapture),
			laneLost: (error) => this.#laneLost(error),
		});
		const { env } = this.#spec;
		const process = await PipedProcess.start(
			{ bin, args, cwd: "/", env, socketPath: this.#lane.socketPath, token },
			registry,
		);
		void process.exited.then((exit) => {
			if (isCapture) this.#exit = exit;
			if (!this.#isLaneLost) this.#lane.send({ kind: "process-exited", link: id, exit });
		});
		return process;
	}

	#receive(message: LinkMessage, seq: number, isCapture: boolean): void {
		if (message.kind === "level") this.#spec.onLevel(message, message.capturedMs);
		else if (message.kind === "captured") this.#result = message.result;
		else if (message.kind === "stderr") {
			this.#stderr = (this.#stderr + message.text).slice(-STDERR_TAIL_CHARS);
			this.#lane.send({ kind: "ack", link: message.link, seq });
		} else if (message.kind === "output-ended" && isCapture) this.#outputEnded.resolve();
	}

	#laneLost(error: Error): void {
		this.#isLaneLost = true;
		this.#failure ??= error;
		this.#endProcesses();
		this.#outputEnded.resolve();
	}

	#endProcesses(): void {
		void this.#recorder?.stop("interrupt-all");
		void this.#ffmpeg?.stop("interrupt");
	}

	async #finish(): Promise<CaptureEnd> {
		void this.#recorder?.stop("interrupt-all"); // ffmpeg may have ended before it.
		await Promise.all([this.#ffmpeg?.gone, this.#recorder?.gone]);
		this.#dropLinks();
		return { result: this.#result, exit: this.#exit, stderr: this.#stderr, failure: this.#failure };
	}

	#dropLinks(): void {
		for (const link of this.#links) this.#lane.drop(link);
	}
}
