/**
 * Who records. Shared by all sessions of the process, because there is one microphone: a second recording is refused, never
 * started. Finds ffmpeg and a recorder that works; gives each capture a private folder, which goes with it.
 */

import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import type { AudioContainer, Level } from "../../shared/audio.ts";
import { AgyError, toError } from "../../shared/errors.ts";
import type { VoiceConfig } from "../config.ts";
import { settlesWithin } from "../deadline.ts";
import type { LanePool } from "../lanes.ts";
import type { LogWriter } from "../log.ts";
import { toPlainText } from "../plain-text.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { runCommand } from "../processes/run.ts";
import { findProgram, problemOf } from "../programs.ts";
import { Capture, type CaptureEnd } from "./capture.ts";
import { CaptureClock } from "./capture-clock.ts";
import { captureArguments } from "./ffmpeg-arguments.ts";
import { FFMPEG_HINT, findRecorders, lastLine, type Recorder, stalled, toRecordingError } from "./recorders.ts";
import { checkSoundFile, refusedFormat, soundFileInput } from "./sound-file.ts";

/** ffmpeg lists its devices at once; a first start from a cold disk takes longer. */
const ASK_TIMEOUT_MS = 10_000;
const ASK_MAX_BYTES = 256 * 1024;
/** A recorder that brings no sound for this long will not: sound servers start within a second or two. */
const FIRST_LEVEL_TIMEOUT_MS = 6_000;
/** The same for a program, whose sound ffmpeg looks at for up to four seconds before it takes it. */
const PROGRAM_FIRST_LEVEL_TIMEOUT_MS = 10_000;

/**
 * The session ends a recording that is too long; ffmpeg does it for one whose session cannot, and the clock for a device
 * that is slower than time.
 */
const GUARD_SECONDS = 5;

/** A headset that changes its profile is silent for some seconds, and that as sound; without any the device is gone. */
const STALL_TIMEOUT_MS = 10_000;
/** Of a whole sound file: half an hour of sound takes ten seconds, on a slow and busy machine a minute or two. */
const FILE_TIMEOUT_MS = 300_000;

/** Of a sound file. As WAV it is below what the lane reads. */
export const MAX_FILE_SECONDS = 1_800;

export type MicrophoneOptions = {
	readonly lanes: LanePool;
	readonly registry: ProcessRegistry;
	/** A private folder of this process, removed with it even when it is killed. */
	readonly directory: string;
	readonly log: LogWriter;
	/** Default: STALL_TIMEOUT_MS. */
	readonly stallTimeoutMs?: number;
	/** Default: FILE_TIMEOUT_MS. */
	readonly fileTimeoutMs?: number;
};

export type ListenOptions = {
	readonly voice: VoiceConfig;
	readonly searchPath: readonly string[];
	readonly container: AudioContainer;
	readonly signal: AbortSignal;
	readonly onLevel: (level: Level, capturedMs: number) => void;
};

/** A capture under way, with its file. */
export type Listening = {
	/** What records, as messages name it. */
	readonly recorder: string;
	/** ffmpeg's output for sounds; null when there is none. */
	readonly output: readonly string[] | null;
	readonly ffmpeg: string;
	readonly path: string;
	/** As in Capture. */
	readonly ended: Promise<CaptureEnd>;
	stop(): Promise<CaptureEnd>;
	/** Ends it if it still runs, and removes its file. */
	discard(): Promise<void>;
};

export class Microphone {
	readonly #options: MicrophoneOptions;
	readonly #open = new Set<Listening>();
	#isTaken = false;
	#recorder: string | null = null;

	constructor(options: MicrophoneOptions) {
		this.#options = options;
	}

	/** The recorder that worked last; null when none has yet. */
	get recorder(): string | null {
		return this.#recorder;
	}

	/**
	 * Starts recording; resolves when there is sound. Throws `recording-failed` when it cannot or another recording runs,
	 * and the signal's reason.
	 */
	async listen(options: ListenOptions): Promise<Listening> {
		if (this.#isTaken)
			throw new AgyError("recording-failed", "Another session of this pi is recording. Stop that recording first.");
		this.#isTaken = true;
		try {
			const listening = await this.#tryRecorders(options);
			void listening.ended.then(() => {
				this.#isTaken = false;
			});
			return listening;
		} catch (error) {
			this.#isTaken = false;
			throw error;
		}
	}

	/** Reads a sound file in place of the microphone. Throws `recording-failed`. */
	async read(file: string, options: ListenOptions): Promise<Listening> {
		const path = resolve(file);
		const found = await stat(path).catch(() => null); // Missing, or a folder on the way is closed: it cannot be read.
		if (!found?.isFile()) {
			const problem =
				found === null ? `There is no sound file ${toPlainText(path)}.` : `${toPlainText(path)} is no file.`;
			throw new AgyError("recording-failed", problem);
		}
		await checkSoundFile(path);
		const ffmpeg = await findFfmpeg(options);
		const source: Recorder = { name: path, input: soundFileInput(path), program: [], output: null };
		const { listening, capture } = await this.#start(source, ffmpeg, MAX_FILE_SECONDS, options);
		const totalMs = this.#options.fileTimeoutMs ?? FILE_TIMEOUT_MS;
		const clock = new CaptureClock({
			...{ stallMs: null, totalMs, onStall: () => {} },
			onTotal: () => capture.fail(tooSlow(path, totalMs)),
		});
		const ended = listening.ended.then((end) => {
			clock.stop();
			return { ...end, failure: end.failure ?? refusedFormat(path, end.stderr) };
		});
		return { ...listening, ended };
	}

	/** Ends every capture. Their sessions have been told to before. */
	async close(): Promise<void> {
		await Promise.all([...this.#open].map((listening) => listening.discard()));
	}

	async #tryRecorders(options: ListenOptions): Promise<Listening> {
		const { voice, signal } = options;
		const ffmpeg = await findFfmpeg(options);
		const recorders = await findRecorders(voice, process.platform, (args) =>
			runCommand(
				{ bin: ffmpeg, args, env: voice.env, timeoutMs: ASK_TIMEOUT_MS, maxBytes: ASK_MAX_BYTES, signal },
				this.#options.registry,
			),
		);
		signal.throwIfAborted();
		const tried: { name: string; stderr: string }[] = [];
		const isLast = ({ name }: Recorder) => name === this.#recorder;
		for (const recorder of [...recorders.filter(isLast), ...recorders.filter((other) => !isLast(other))]) {
			const heard = Promise.withResolvers<void>();
			let isHeard = false;
			let clock: CaptureClock | null = null;
			const onLevel: ListenOptions["onLevel"] = (level, capturedMs) => {
				isHeard = true;
				clock?.heard();
				heard.resolve();
				options.onLevel(level, capturedMs);
			};
			const maxSeconds = voice.maxSeconds + GUARD_SECONDS;
			const { listening, capture } = await this.#start(recorder, ffmpeg, maxSeconds, { ...options, onLevel });
			const timeoutMs = recorder.program.length > 0 ? PROGRAM_FIRST_LEVEL_TIMEOUT_MS : FIRST_LEVEL_TIMEOUT_MS;
			await settlesWithin(Promise.race([heard.promise, listening.ended]), timeoutMs, signal);
			if (isHeard) {
				this.#recorder = recorder.name;
				clock = this.#watch(capture, recorder, maxSeconds * 1_000);
				return listening;
			}
			await listening.discard();
			signal.throwIfAborted();
			const { stderr, failure } = await listening.ended;
			if (failure) throw failure;
			this.#options.log("info", `${recorder.name} does not record: ${lastLine(stderr) || "no sound came"}`, {
				event: "recorder-failed",
				recorder: recorder.name,
			});
			tried.push({ name: recorder.name, stderr });
		}
		throw toRecordingError(tried);
	}

	/** From the first sound on, which has limits of its own. Ends with the capture. */
	#watch(capture: Capture, recorder: Recorder, totalMs: number): CaptureClock {
		const stallMs = this.#options.stallTimeoutMs ?? STALL_TIMEOUT_MS;
		const clock = new CaptureClock({
			...{ stallMs, totalMs },
			onStall: () => capture.fail(stalled(recorder, stallMs)),
			onTotal: () => {
				const text = `${recorder.name} gives less sound than time passes; its recording ended after ${totalMs} ms`;
				this.#options.log("warn", text, { event: "recorder-failed", recorder: recorder.name });
				void capture.stop();
			},
		});
		void capture.ended.then(() => clock.stop());
		return clock;
	}

	async #start(
		recorder: Recorder,
		ffmpeg: string,
		maxSeconds: number,
		options: ListenOptions,
	): Promise<{ readonly listening: Listening; readonly capture: Capture }> {
		const { voice, container, onLevel } = options;
		const folder = await mkdtemp(join(this.#options.directory, "voice-"));
		const path = join(folder, `recording.${container}`);
		try {
			await (await open(path, "wx", 0o600)).close(); // ffmpeg keeps the mode of a file that is there.
			const capture = await Capture.start(
				{
					...{ ffmpeg, path, container, onLevel, env: voice.env, recorder: recorder.program },
					args: captureArguments({ input: recorder.input, container, path, maxSeconds }),
				},
				this.#options.lanes,
				this.#options.registry,
			);
			const listening: Listening = {
				...{ recorder: recorder.name, output: recorder.output, ffmpeg, path, ended: capture.ended },
				stop: () => capture.stop(),
				discard: async () => {
					await capture.cancel();
					await rm(folder, { recursive: true, force: true });
					this.#open.delete(listening);
				},
			};
			this.#open.add(listening);
			return { listening, capture };
		} catch (error) {
			await rm(folder, { recursive: true, force: true });
			throw toStartError(error, recorder);
		}
	}
}

/** Throws `recording-failed` with how to get one. */
async function findFfmpeg({ voice, searchPath }: Pick<ListenOptions, "voice" | "searchPath">): Promise<string> {
	const { ffmpeg } = voice;
	if (ffmpeg === null || !isAbsolute(ffmpeg)) {
		const found = await findProgram(ffmpeg ?? "ffmpeg", searchPath);
		if (found !== null) return found;
		throw new AgyError("recording-failed", `ffmpeg was not found. ${FFMPEG_HINT}`);
	}
	const problem = await problemOf(ffmpeg);
	if (problem === null) return ffmpeg;
	throw new AgyError(
		"recording-failed",
		`voiceFfmpeg is ${ffmpeg}, which ${problem === "missing" ? "does not exist" : problem}. ${FFMPEG_HINT}`,
	);
}

function tooSlow(path: string, timeoutMs: number): AgyError {
	return new AgyError(
		"recording-failed",
		`Reading ${toPlainText(path)} took longer than ${timeoutMs / 1_000} s and was given up. Copy the file to this machine's disk if it lies elsewhere, or give a shorter one.`,
	);
}

function toStartError(error: unknown, { program, name }: Recorder): AgyError {
	if (error instanceof AgyError) return error;
	const [bin] = program;
	const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
	if (bin !== undefined && isMissing)
		return new AgyError("recording-failed", `The recorder ${bin} was not found. Check voiceRecorder.`, {
			cause: error,
		});
	return new AgyError("recording-failed", `Recording could not be started (${name}): ${toError(error).message}.`, {
		cause: error,
	});
}
