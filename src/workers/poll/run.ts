/**
 * One run of `agy -p`, followed through the conversation database that it writes.
 *
 * 1. `finding`: no conversation is proven to be the run's yet (discovery.ts), or the known one does not hold its prompt.
 * 2. `following`: each look reads the rows that changed and reports what they add (tail.ts).
 * 3. `trailing`: the process has ended; a few more looks, and a last one that reads whatever the version says.
 * 4. `ended`: open rows are closed with what they hold, and the turn's end is reported where the run came to one.
 *
 * A file that was replaced is opened again. A look that fails is made up for by the next one.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgyEvent, TurnEndEvent } from "../../shared/events.ts";
import { REPLACED_CHECK_MS, TRAILING_LOOK_MS, TRAILING_LOOKS } from "../../shared/limits.ts";
import type { RunExit, RunSpec } from "../../shared/messages.ts";
import { decodeStep, type StepRow } from "../decode/step-payload.ts";
import type { DecoderSink } from "../link.ts";
import { ConversationDb } from "./conversation-db.ts";
import { findConversation, isPromptOf, USER_INPUT } from "./discovery.ts";
import { conversationsHeldBy } from "./open-files.ts";
import type { Run, Scheduler } from "./scheduler.ts";
import { StepTail } from "./tail.ts";

type RunSink = Pick<DecoderSink, "event" | "taken" | "isPaused" | "log">;

/** Each look at who holds what reads the whole process table, and every commit of any conversation asks for one. */
const SCAN_PAUSE_MS = 50;
/** Of an event beside its text. */
const EVENT_BYTES = 100;
/** `user_version` of agy 1.0.9 to 1.3. */
const KNOWN_SCHEMA_VERSION = 1;

export class FollowedRun implements Run {
	readonly #spec: RunSpec;
	readonly #sink: RunSink;
	readonly #scheduler: Scheduler;
	#pid: number | null = null;
	#isScanning = false;
	#scannedMs = Number.NEGATIVE_INFINITY;
	#conversationId: string | null;
	#db: ConversationDb | null = null;
	#tail: StepTail | null = null;
	/** The last user row that stood there before the run: the same prompt may have been said just now. */
	readonly #before: string;
	/** The run's user row was found in the file that is open. */
	#hasBegun = false;
	/** Of the run's user row; rows up to it are history. */
	#startIdx = -1;
	#checkedMs = 0;
	#problem = "";
	/** What agy's stdout said about the end, where it speaks. */
	#reported: TurnEndEvent | null = null;
	#exit: RunExit | null = null;
	#looksLeft = TRAILING_LOOKS;
	#timer: NodeJS.Timeout | undefined;
	#onEnd: (() => void) | null = null;
	#isEnded = false;

	constructor(spec: RunSpec, sink: RunSink, scheduler: Scheduler) {
		this.#spec = spec;
		this.#sink = sink;
		this.#scheduler = scheduler;
		const { conversationId } = spec;
		// What is not there any more is not what agy goes on with: it starts another one.
		this.#conversationId = conversationId !== null && existsSync(this.#pathOf(conversationId)) ? conversationId : null;
		this.#before = spec.conversationId === null ? "" : this.#lastUserRow(spec.conversationId);
		scheduler.add(this, spec.conversationsDir);
	}

	/** The process runs: what it holds open is its own. */
	started(pid: number): void {
		this.#pid = pid;
	}

	/** agy itself named its conversation, or reported the end. */
	said(event: AgyEvent): void {
		if (event.kind === "ready" && event.conversationId !== "") this.#conversationId = event.conversationId;
		if (event.kind === "turn-end") this.#reported = event;
	}

	concerns(fileName: string): boolean {
		return this.#conversationId === null || fileName.startsWith(this.#conversationId);
	}

	look(): void {
		if (this.#isEnded || this.#sink.isPaused) return;
		this.#look(false);
	}

	/** The process has ended and its output is read: `onEnd` is called when everything it wrote is reported. */
	finish(exit: RunExit, onEnd: () => void): void {
		this.#exit = exit;
		this.#onEnd = onEnd;
		this.#trail();
	}

	/** The run is of no interest any more. */
	close(): void {
		this.#isEnded = true;
		clearTimeout(this.#timer);
		this.#scheduler.remove(this);
		this.#closeDb();
	}

	#trail(): void {
		if (this.#isEnded) return;
		if (this.#sink.isPaused) {
			this.#timer = setTimeout(() => this.#trail(), TRAILING_LOOK_MS);
			return;
		}
		const isLast = this.#looksLeft-- <= 0;
		this.#look(isLast);
		if (isLast) this.#end();
		else this.#timer = setTimeout(() => this.#trail(), TRAILING_LOOK_MS);
	}

	#look(isFinal: boolean): void {
		try {
			this.#reopenIfReplaced(isFinal);
			if (!this.#hasBegun && !this.#begin()) return;
			const rows = this.#db?.readChanged(this.#startIdx, isFinal) ?? [];
			if (rows.length === 0) return;
			let bytes = 0;
			for (const event of this.#tail?.take(rows) ?? []) {
				this.#sink.event(event);
				bytes += sizeOf(event);
			}
			this.#sink.taken(bytes);
			this.#problem = "";
		} catch (error) {
			this.#note(String(error));
		}
	}

	/** Finds the conversation, and in it the row that this run begins with. False while either is not there. */
	#begin(): boolean {
		if (this.#conversationId === null) this.#find();
		const conversationId = this.#conversationId;
		if (conversationId === null) return false;
		if (this.#db === null) {
			const opened = ConversationDb.open(this.#pathOf(conversationId), this.#exit === null);
			if (!(opened instanceof ConversationDb)) {
				this.#note(opened.message);
				return false;
			}
			this.#db = opened;
		}
		const start = this.#db.lastOfType(USER_INPUT);
		if (start === null || !isPromptOf(start, this.#spec) || nameOf(start) === this.#before) {
			this.#note(`The prompt of this run was not found in ${this.#db.path}.`);
			// agy did not go on with the conversation it was told to: it may have started another one.
			if (this.#exit !== null && conversationId === this.#spec.conversationId) {
				this.#closeDb();
				this.#conversationId = null;
			}
			return false;
		}
		// In a file that took the place of another, what was told of the same rows still holds.
		const isFirst = this.#tail === null;
		if (isFirst || start.idx !== this.#startIdx) this.#tail = new StepTail(start.idx);
		this.#startIdx = start.idx;
		this.#hasBegun = true;
		this.#problem = "";
		if (!isFirst) return true;
		const { schemaVersion } = this.#db;
		if (schemaVersion > KNOWN_SCHEMA_VERSION)
			this.#sink.log(
				`The conversation database has version ${schemaVersion}, later than ${KNOWN_SCHEMA_VERSION}: some of it may be misread.`,
			);
		this.#sink.event({ kind: "ready", conversationId, model: "", permissionMode: "", toolCount: 0 });
		this.#sink.taken(0);
		return true;
	}

	/** While the process runs, what it holds open decides among what is proven; afterwards the proof alone has to. */
	#find(): void {
		if (this.#exit !== null) this.#bind(null);
		else if (this.#pid !== null && !this.#isScanning && performance.now() - this.#scannedMs >= SCAN_PAUSE_MS)
			void this.#scan(this.#pid);
	}

	async #scan(pid: number): Promise<void> {
		this.#isScanning = true;
		const held = await conversationsHeldBy(pid, this.#spec.conversationsDir).catch(() => null); // Nothing can be seen: the proof decides at the end.
		this.#isScanning = false;
		this.#scannedMs = performance.now();
		if (this.#isEnded || held === null) return;
		this.#bind(held);
		if (this.#conversationId !== null) this.look();
	}

	#bind(held: ReadonlySet<string> | null): void {
		if (this.#conversationId !== null) return;
		const finding = findConversation(this.#spec, held, this.#exit === null);
		if (finding.kind === "found") this.#conversationId = finding.conversationId;
		else if (finding.kind === "ambiguous") {
			this.#note(`More than one conversation could be this run's: ${finding.conversationIds.join(", ")}.`);
		} else {
			this.#note(
				`No conversation of this run was found in ${this.#spec.conversationsDir} (${finding.candidates} looked at). Set AGY_CONVERSATIONS_DIR if agy keeps them elsewhere.`,
			);
		}
	}

	/** Nobody writes a conversation that is about to be resumed. "" when it cannot be read: then its times alone tell. */
	#lastUserRow(conversationId: string): string {
		const db = ConversationDb.open(this.#pathOf(conversationId), false);
		if (!(db instanceof ConversationDb)) return "";
		try {
			const row = db.lastOfType(USER_INPUT);
			return row === null ? "" : nameOf(row);
		} catch {
			return "";
		} finally {
			db.close();
		}
	}

	#pathOf(conversationId: string): string {
		return join(this.#spec.conversationsDir, `${conversationId}.db`);
	}

	#reopenIfReplaced(isFinal: boolean): void {
		const now = performance.now();
		if (this.#db === null || (now - this.#checkedMs < REPLACED_CHECK_MS && !isFinal)) return;
		this.#checkedMs = now;
		if (!this.#db.isReplaced) return;
		this.#closeDb();
		this.#hasBegun = false;
	}

	#end(): void {
		for (const event of this.#tail?.close() ?? []) this.#sink.event(event);
		if (this.#problem !== "") this.#sink.log(this.#problem);
		const end = this.#turnEnd();
		if (end !== null) this.#sink.event(end);
		this.#sink.taken(0);
		const onEnd = this.#onEnd;
		this.close();
		onEnd?.();
	}

	/** Null where the run came to no end of its own: its exit and stderr say why then. */
	#turnEnd(): TurnEndEvent | null {
		if (this.#reported) return this.#reported;
		const conversationId = this.#conversationId ?? "";
		const base = { kind: "turn-end", conversationId, text: "", turnCount: 0, deniedActions: [] } as const;
		if (this.#tail === null) return this.#exit?.code === 0 ? { ...base, status: "ERROR", error: this.#problem } : null;
		const { lastError, hasAnswer, isPlannerOpen, denied } = this.#tail.outcome();
		if (lastError) return { ...base, status: "ERROR", error: lastError.message };
		const isComplete = this.#exit?.code === 0 && !isPlannerOpen && (hasAnswer || denied.length > 0);
		return isComplete ? { ...base, status: "SUCCESS", error: "" } : null;
	}

	/** Told when the run ends without having been found; before, most of it passes. */
	#note(problem: string): void {
		this.#problem = problem;
	}

	#closeDb(): void {
		this.#db?.close();
		this.#db = null;
	}
}

/** About what main holds of an event until it has consumed it. The row itself stays here, however long it has grown. */
function sizeOf(event: AgyEvent): number {
	if (event.kind === "text" || event.kind === "thinking") return EVENT_BYTES + event.text.length;
	return EVENT_BYTES + (event.kind === "tool" ? (event.output?.length ?? 0) : 0);
}

/** A row's number may be used again after a rewind, and its time is as coarse as agy's clock: together they tell. */
function nameOf(row: StepRow): string {
	return `${row.idx} ${decodeStep(row).value.createdMs}`;
}
