/**
 * Writes what a session does into its conversation database, beside what it prints: told of every frame of the stream and of
 * what the stream does not show (the prompt, declared calls, a tool's statuses). Loaded only when a database is wanted.
 * Life story: 1. the file is made or found, at the start or with the first turn; 2. each turn adds its rows; 3. what a stop
 * leaves open is canceled; 4. the process leaves, with or without closing the file.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../process/home.ts";
import type { AnswerRowScript, DatabaseOptions, NeighbourScript } from "../scenario/database.ts";
import type { StepFields } from "../wire/envelopes.ts";
import { NO_USAGE } from "../wire/usage.ts";
import { AnswerRow } from "./answer-row.ts";
import { ConversationDatabase, type WriterOptions } from "./conversation-database.ts";
import {
	addNeighbour,
	addOldFiles,
	bookkeepingRow,
	databasePath,
	writeConversation,
	writeUserRows,
} from "./neighbours.ts";
import { executorBlob, type TrajectoryDescription, uuidOf } from "./side-blobs.ts";
import * as content from "./step-content.ts";
import { type StepRow, usageMessage } from "./step-row.ts";
import * as types from "./step-types.ts";
import { type RecordedTool, type ToolEnd, ToolRows } from "./tool-rows.ts";

const { STATUS, SOURCE } = types;

export type RecorderSetUp = {
	readonly home: Home;
	readonly options: DatabaseOptions;
	readonly writer: WriterOptions;
	readonly dialect: types.ToolDialect;
	readonly trajectory: TrajectoryDescription;
};

/** What a frame stands for beyond what the stream shows of it. */
export type StepDetail = {
	readonly error?: content.ErrorDetails;
	/** The row of an earlier frame of this turn is rewritten. */
	readonly rewrites?: number;
	/** More is to come in the same row. */
	readonly isOpen?: boolean;
	/** Everything an answer has said so far, or what a system message tells the model. */
	readonly text?: string;
};

const CHECKPOINT_MODEL = 1050;
const CHECKPOINT_USAGE = { input_tokens: 46, output_tokens: 5, thinking_tokens: 0, cache_read_tokens: 0 };

export class Recorder {
	readonly setUp: RecorderSetUp;
	#database: ConversationDatabase | undefined;
	#prompt = "";
	#isFirstTurn = false;
	#answer: { readonly stepIndex: number; readonly row: AnswerRow; text: string } | undefined;
	/** By step index of this turn. */
	#rows = new Map<number, StepRow>();
	readonly #tools: ToolRows;
	readonly #children: ConversationDatabase[] = [];

	constructor(setUp: RecorderSetUp) {
		this.setUp = setUp;
		this.#tools = new ToolRows(setUp.home, setUp.options, setUp.dialect);
	}

	get database(): ConversationDatabase {
		if (this.#database === undefined) throw new Error("the database has not been opened yet");
		return this.#database;
	}

	get #isScripted(): boolean {
		return this.setUp.options.rows === "scripted";
	}

	/** Makes or finds the file. Only the first call does. */
	async open(): Promise<void> {
		if (this.#database !== undefined) return;
		const { home, options, trajectory, writer } = this.setUp;
		const path = databasePath(home, trajectory.conversationId);
		if (existsSync(path)) {
			this.#database = ConversationDatabase.open(path, trajectory.conversationId, writer);
			return;
		}
		await addOldFiles(home, options.oldFiles ?? 0);
		await this.#addNeighbours("before");
		await writer.stopAt("start", 0, new AbortController().signal);
		this.#database = await ConversationDatabase.create(path, trajectory, {
			...writer,
			stopAt: async (place, number, signal) => {
				if (place === "schema") await this.#addNeighbours("together");
				await writer.stopAt(place, number, signal);
			},
		});
		await this.#addNeighbours("after");
	}

	async beginTurn(prompt: string, turnNumber: number, signal: AbortSignal): Promise<void> {
		await this.open();
		this.#rows.clear();
		this.#answer = undefined;
		this.#prompt = prompt;
		this.#isFirstTurn = this.database.isEmpty;
		this.database.signal = signal;
		this.database.executionId = uuidOf(`${this.database.id} turn ${turnNumber}`);
		if (this.#isScripted || this.#tools.areOpen) return;
		const canceled = await this.database.cancelOpenRows();
		if (canceled > 0) await this.#addSystemMessage("Background work was stopped by a restart.", "restart_notice");
	}

	/** The calls that follow the next answer. */
	plan(tools: readonly RecordedTool[]): void {
		this.#tools.plan(tools);
	}

	async beginAnswer(stepIndex: number, script: AnswerRowScript): Promise<void> {
		if (this.#isScripted) return;
		const row = new AnswerRow(this.database, this.setUp.options, script);
		this.#answer = { stepIndex, row, text: "" };
		await row.begin();
	}

	/** A frame of the stream, before it is printed. Tools and subagents are told of apart. */
	async onStep(fields: StepFields, detail: StepDetail): Promise<void> {
		if (this.#isScripted) return;
		switch (fields.stepType) {
			case "user_input":
				await writeUserRows(this.database, this.#prompt);
				return this.#addNoise();
			case "agent_response":
				return this.#onAnswer(fields, detail);
			case "system_message":
				return this.#addSystemMessage(detail.text ?? "The conversation goes on.", "system_notice");
			case "error_message":
				return this.#onError(fields.stepIndex, detail);
			case "checkpoint":
				return this.#addCheckpoint();
			case "tool":
			case "subagent":
			case "title":
				return;
			default:
				return this.database.commitRow(bookkeepingRow(this.database, types.UNKNOWN, Buffer.alloc(0)));
		}
	}

	async beginTool(stepIndex: number, tool: RecordedTool): Promise<void> {
		if (!this.#isScripted) await this.#tools.begin(this.database, stepIndex, tool);
	}

	async endTool(stepIndex: number, end: ToolEnd): Promise<void> {
		if (!this.#isScripted) await this.#tools.end(this.database, stepIndex, end);
	}

	/** The oldest tool that is still open ends. */
	finishOldestTool(output: string | undefined, status: number | undefined): Promise<void> {
		return this.#tools.finishOldest(this.database, output, status ?? STATUS.done);
	}

	/** A conversation of its own in the same folder, which this process holds open too. */
	async addChild(childId: string, agentName: string, prompt: string, answer: string): Promise<void> {
		if (this.#isScripted) return;
		const { home, trajectory } = this.setUp;
		const child = await writeConversation(
			home,
			{
				conversationId: childId,
				workspaces: trajectory.workspaces,
				agentName,
				parentId: this.database.id,
				rootId: this.database.id,
				depth: 1,
			},
			prompt,
			answer,
		);
		this.#children.push(child);
	}

	/** Before the result: the executor's state of the turn, and in the first turn the checkpoint. */
	async endTurn(): Promise<void> {
		if (this.#isScripted) return;
		const { database } = this;
		await database.commit(() => {
			const idx = database.file.nextIdx("executor_metadata");
			database.file.put("executor_metadata", "idx", { idx, data: executorBlob(database.executionId) });
		});
		if (this.#isFirstTurn) await this.#addCheckpoint();
	}

	/** Stopped from outside: what is open does not go on. */
	async stopTurn(): Promise<void> {
		if (this.#database === undefined) return;
		this.database.signal = new AbortController().signal; // the turn's own is aborted
		const isLeft = this.#isScripted || this.setUp.options.stopped === "leave";
		const answer = this.#answer;
		this.#answer = undefined;
		if (isLeft) return answer?.row.abandon();
		if (answer?.row.row.isOpen) await answer.row.cancel();
		await this.#tools.cancelAll(this.database);
	}

	/** The process leaves. */
	close(): void {
		this.#answer?.row.abandon();
		if (this.setUp.options.close !== "clean" || this.#database?.file.isInTransaction) return;
		this.#database?.file.close();
		for (const child of this.#children) child.file.close();
	}

	async #onAnswer(fields: StepFields, detail: StepDetail): Promise<void> {
		if (this.#answer?.stepIndex !== fields.stepIndex) await this.beginAnswer(fields.stepIndex, {});
		const answer = this.#answer;
		if (answer === undefined) return;
		const { key = "", value = "" } = fields.text ?? {};
		const isThought = /^th(inking|ought)_/.test(key);
		if (isThought) await answer.row.think(value);
		else answer.text = detail.text ?? answer.text + value;
		if (fields.state !== "DONE") return isThought ? undefined : answer.row.grow(answer.text);
		await answer.row.finish(answer.text, fields.usage ?? NO_USAGE, this.#tools.declare());
	}

	async #onError(stepIndex: number, detail: StepDetail): Promise<void> {
		const error = content.errorDetails(detail.error ?? { message: "The step failed.", short: "failed" });
		const before = detail.rewrites === undefined ? undefined : this.#rows.get(detail.rewrites);
		const row = before ?? this.database.newRow(types.ERROR_MESSAGE, SOURCE.system, STATUS.pending);
		this.#rows.set(stepIndex, row);
		row.become(detail.isOpen ? STATUS.running : STATUS.done);
		row.content = content.errorMessage(error);
		await this.database.commitRow(row);
	}

	async #addSystemMessage(text: string, kind: string): Promise<void> {
		const message = content.systemMessage(text, kind);
		await this.database.commitRow(bookkeepingRow(this.database, types.SYSTEM_MESSAGE, message));
	}

	async #addNoise(): Promise<void> {
		if (!this.#isFirstTurn) return;
		for (const type of this.setUp.options.extraNoise ?? []) {
			if (type === types.SYSTEM_MESSAGE.type) await this.#addSystemMessage("A task has finished.", "task_notification");
			else await this.database.commitRow(bookkeepingRow(this.database, { type, field: undefined }, Buffer.alloc(0)));
		}
	}

	async #addCheckpoint(): Promise<void> {
		this.#isFirstTurn = false;
		const row = this.database.newRow(types.CHECKPOINT, SOURCE.system, STATUS.pending);
		row.become(STATUS.running);
		await this.database.commitRow(row);
		const { checkpointMs = 0 } = this.setUp.options;
		if (checkpointMs > 0) await sleep(checkpointMs);
		row.content = content.checkpoint(`About: ${this.#prompt.split("\n", 1)[0]}`, this.#prompt);
		row.usage = usageMessage(CHECKPOINT_USAGE, uuidOf(`${this.database.id} checkpoint ${row.idx}`), CHECKPOINT_MODEL);
		row.become(STATUS.done);
		await this.database.commitRow(row);
	}

	async #addNeighbours(when: string): Promise<void> {
		const all = this.setUp.options.neighbours ?? [];
		for (const [number, neighbour] of all.entries()) {
			if (neighbour.when === when) await this.addNeighbour(neighbour, `${when} ${number}`);
		}
	}

	addNeighbour(script: NeighbourScript, seed: string): Promise<void> {
		const { home, trajectory } = this.setUp;
		const { parentId } = script;
		const family =
			parentId === undefined ? {} : { parentId: parentId.replace("{{conversation}}", trajectory.conversationId) };
		return addNeighbour(home, { ...script, ...family }, `${trajectory.conversationId} neighbour ${seed}`);
	}
}
