/**
 * Tools in the database: the model declares calls with its answer, each becomes a row of its own that changes its status and
 * gains its output in place. A row that is left open may end much later, behind others.
 */
import type { Home } from "../process/home.ts";
import type { DatabaseOptions, ToolRowScript } from "../scenario/database.ts";
import { toUsage } from "../wire/usage.ts";
import { AnswerRow } from "./answer-row.ts";
import type { ConversationDatabase } from "./conversation-database.ts";
import { errorDetails, permissionBlob, taskDetails, toolResult } from "./step-content.ts";
import type { DeclaredCall, StepRow } from "./step-row.ts";
import { SOURCE, STATUS, type ToolDialect, toolKind } from "./step-types.ts";

export type RecordedTool = {
	readonly name: string;
	readonly parameters: Readonly<Record<string, unknown>>;
	readonly arguments: Readonly<Record<string, unknown>>;
	readonly script: ToolRowScript;
	/** Kind of permission and what it is for. */
	readonly permission: { readonly action: string; readonly target: string };
};

export type ToolEnd =
	| { readonly kind: "open" }
	| { readonly kind: "done"; readonly output: string | undefined }
	| { readonly kind: "error"; readonly message: string; readonly isDenial: boolean };

type OpenTool = { readonly tool: RecordedTool; readonly row: StepRow };

const SILENT_CALL_USAGE = toUsage({ inputTokens: 900, outputTokens: 20, thinkingTokens: 20 });

export class ToolRows {
	readonly #home: Home;
	readonly #options: DatabaseOptions;
	readonly #dialect: ToolDialect;
	/** By step index of the stream. */
	readonly #open = new Map<number, OpenTool>();
	/** Calls the model will declare with its next answer, then those it has declared. */
	#planned: DeclaredCall[] = [];
	#declared: DeclaredCall[] = [];
	#callsMade = 0;

	constructor(home: Home, options: DatabaseOptions, dialect: ToolDialect) {
		this.#home = home;
		this.#options = options;
		this.#dialect = dialect;
	}

	get areOpen(): boolean {
		return this.#open.size > 0;
	}

	/** The calls that follow the next answer. */
	plan(tools: readonly RecordedTool[]): void {
		this.#planned = tools.map((tool) => this.#toCall(tool));
	}

	/** What an answer that is complete has declared. */
	declare(): readonly DeclaredCall[] {
		this.#declared = this.#planned;
		this.#planned = [];
		return this.#declared.slice();
	}

	async begin(database: ConversationDatabase, stepIndex: number, tool: RecordedTool): Promise<void> {
		const call = await this.#takeCall(database, tool);
		const row = database.newRow(toolKind(tool.name, this.#dialect), SOURCE.model);
		row.call = call;
		this.#open.set(stepIndex, { tool, row });
		for (const status of tool.script.statuses ?? [STATUS.pending, STATUS.running]) {
			row.become(status);
			row.content = contentOf(row, tool, undefined);
			row.permissions = permissionsOf(tool, row, status);
			await database.commitRow(row);
		}
		for (const output of tool.script.outputs ?? []) {
			row.content = contentOf(row, tool, output);
			await database.commitRow(row);
		}
	}

	async end(database: ConversationDatabase, stepIndex: number, end: ToolEnd): Promise<void> {
		const open = this.#open.get(stepIndex);
		if (open === undefined) return;
		const { tool, row } = open;
		if (end.kind === "open") {
			const task = `task-${row.idx}`;
			const logUri = `file://${this.#home.path}/antigravity-cli/brain/${database.id}/tasks/${task}.log`;
			row.taskDetails = taskDetails(task, logUri, String(tool.parameters.CommandLine ?? tool.name));
			return database.commitRow(row);
		}
		this.#open.delete(stepIndex);
		if (end.kind === "error") {
			const { action, target } = tool.permission;
			const full = `${end.message}\n\tat ${tool.name}`;
			row.errorDetails = errorDetails({ message: end.message, short: end.message, full });
			if (end.isDenial) row.permissions = permissionBlob(action, target, false);
		} else {
			row.content = contentOf(row, tool, end.output);
		}
		row.become(tool.script.endStatus ?? (end.kind === "error" ? STATUS.error : STATUS.done));
		await database.commitRow(row);
	}

	/** Ends the one that has been open longest, whatever has come after it. */
	async finishOldest(database: ConversationDatabase, output: string | undefined, status: number): Promise<void> {
		const [oldest] = this.#open;
		if (oldest === undefined) throw new Error("no tool is open");
		const [stepIndex, { row, tool }] = oldest;
		this.#open.delete(stepIndex);
		row.content = contentOf(row, tool, output);
		row.become(status);
		await database.commitRow(row);
	}

	async cancelAll(database: ConversationDatabase): Promise<void> {
		const open = [...this.#open.values()];
		this.#open.clear();
		for (const { row } of open) {
			row.become(STATUS.canceled);
			await database.commitRow(row);
		}
	}

	/** The call as declared; a model that has declared nothing does so now, in a row without text. */
	async #takeCall(database: ConversationDatabase, tool: RecordedTool): Promise<DeclaredCall> {
		const found = this.#declared.findIndex(({ name }) => name === tool.name);
		const [known] = found < 0 ? [] : this.#declared.splice(found, 1);
		if (known !== undefined) return known;
		const call = this.#toCall(tool);
		const row = new AnswerRow(database, this.#options, {});
		await row.finish("", SILENT_CALL_USAGE, [call]);
		return call;
	}

	#toCall(tool: RecordedTool): DeclaredCall {
		const id = `call_${this.#callsMade}`;
		this.#callsMade += 1;
		return { id, name: tool.name, argumentsJson: JSON.stringify(tool.arguments) };
	}
}

function contentOf(row: StepRow, tool: RecordedTool, output: string | undefined): Buffer {
	const { name, script } = tool;
	const parameters = { ...tool.arguments, ...tool.parameters };
	const exitCode = output === undefined ? undefined : script.exitCode;
	return toolResult(row.kind.type, { name, parameters, output, exitCode });
}

/** Undecided while the user is asked, granted from then on. */
function permissionsOf(tool: RecordedTool, row: StepRow, status: number): Buffer | undefined {
	const { action, target } = tool.permission;
	if (status === STATUS.waiting) return permissionBlob(action, target, undefined);
	return row.permissions === undefined ? undefined : permissionBlob(action, target, true);
}
