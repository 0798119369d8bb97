/**
 * One conversation: its id and the figures that add up over turns and processes. Kept in conversations/<id>.json, which is
 * all that a resume needs; the transcript lies in brain/<id>/. Saved at every step, so that a killed process loses
 * nothing of what was on stdout.
 */
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Home, transcriptPath } from "../process/home.ts";
import { addUsage, NO_USAGE, type Usage } from "../wire/usage.ts";

export type ConversationRecord = {
	readonly id: string;
	/** A conversation stays bound to the workspace it was born in. */
	readonly workspace: string;
	readonly nextStepIndex: number;
	readonly numTurns: number;
	/** Turns begun, finished or not: the place in the scenario's list of turns. */
	readonly turnsBegun: number;
	readonly modelCalls: number;
	readonly durationSeconds: number;
	readonly usage: Usage;
	/** An oversized prompt was dropped; nothing answers here any more. */
	readonly dead: boolean;
	readonly turns: readonly { readonly prompt: string; readonly response: string }[];
};

export type TranscriptRow = {
	readonly source: "USER_EXPLICIT" | "MODEL" | "SYSTEM";
	readonly type: string;
	readonly content: string;
};

const FIRST_ROW_MS = Date.UTC(2030, 0, 1);

export function newRecord(id: string, workspace: string): ConversationRecord {
	return {
		id,
		workspace,
		nextStepIndex: 0,
		numTurns: 0,
		turnsBegun: 0,
		modelCalls: 0,
		durationSeconds: 0,
		usage: NO_USAGE,
		dead: false,
		turns: [],
	};
}

export class Conversation {
	readonly #home: Home;
	#record: ConversationRecord;

	constructor(home: Home, record: ConversationRecord) {
		this.#home = home;
		this.#record = record;
	}

	get record(): ConversationRecord {
		return this.#record;
	}

	get id(): string {
		return this.#record.id;
	}

	beginTurn(resetIndex: boolean): void {
		const nextStepIndex = resetIndex ? 0 : this.#record.nextStepIndex;
		this.#update({ nextStepIndex, turnsBegun: this.#record.turnsBegun + 1 });
	}

	takeStepIndex(): number {
		const index = this.#record.nextStepIndex;
		this.#update({ nextStepIndex: index + 1 });
		return index;
	}

	addModelCall(usage: Usage): void {
		this.#update({ usage: addUsage(this.#record.usage, usage), modelCalls: this.#record.modelCalls + 1 });
	}

	addSeconds(seconds: number): void {
		this.#update({ durationSeconds: this.#record.durationSeconds + seconds });
	}

	endTurn(prompt: string, response: string): void {
		this.#update({ numTurns: this.#record.numTurns + 1, turns: [...this.#record.turns, { prompt, response }] });
	}

	markDead(): void {
		this.#update({ dead: true });
	}

	/** Appends to the transcript; times are one second a step, from a fixed start. */
	addTranscriptRow(stepIndex: number, row: TranscriptRow): void {
		const path = transcriptPath(this.#home, this.id);
		mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
		const line = {
			step_index: stepIndex,
			source: row.source,
			type: row.type,
			status: "DONE",
			created_at: new Date(FIRST_ROW_MS + stepIndex * 1000).toISOString(),
			content: row.content,
		};
		appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
	}

	#update(change: Partial<ConversationRecord>): void {
		this.#record = { ...this.#record, ...change };
		const path = join(this.#home.conversationsPath, `${this.id}.json`);
		const temporary = `${path}.${process.pid}.tmp`;
		writeFileSync(temporary, `${JSON.stringify(this.#record)}\n`, { mode: 0o600 });
		renameSync(temporary, path);
	}
}
