/** Steps that write to the conversation database directly, or do to it and around it what users and other programs do. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { touchMarker, waitForGate } from "../../process/gates.ts";
import type { StepOf } from "../../scenario/step.ts";
import type { StepOutcome, TurnRun } from "../turn-run.ts";
import { childConversationId } from "./subagent.ts";

/** Group of a fork's id that no subagent's step reaches. */
const FORK_GROUP = 0x1000;

export type DatabaseStep = StepOf<
	| "row"
	| "sql"
	| "begin"
	| "commit"
	| "rollback"
	| "rewind"
	| "fork"
	| "recreate"
	| "finish-tool"
	| "neighbour"
	| "last-conversations"
>;

export async function playDatabaseStep(run: TurnRun, script: DatabaseStep): Promise<StepOutcome> {
	const { database: recorder, simulation } = run.session;
	if (recorder === undefined) {
		if (simulation.settings.database === false) return "go-on"; // switched off from outside
		throw new Error(`a "${script.kind}" step needs a scenario with a database`);
	}
	await recorder.open();
	const { database } = recorder;
	const step = run.fill(script);
	switch (step.kind) {
		case "row": {
			const { scriptedColumns } = await import("../../database/scripted-row.ts");
			database.noteIdx(step.idx);
			await database.commit(() => database.file.put("steps", "idx", scriptedColumns(database.context, step)));
			break;
		}
		case "sql": {
			const { columnValue } = await import("../../database/scripted-row.ts");
			await database.commits.between(() => database.file.run(step.sql, step.parameters?.map(columnValue)));
			break;
		}
		case "begin":
			await database.commits.begin();
			break;
		case "commit":
		case "rollback":
			await database.commits.end(step.kind, run.signal);
			break;
		case "rewind":
			await database.rewind(step.to);
			break;
		case "fork":
			await fork(run, step.id);
			break;
		case "recreate":
			await database.recreate(recorder.setUp.trajectory, step.keepsRows ?? false);
			break;
		case "finish-tool":
			await recorder.finishOldestTool(step.output, step.status);
			break;
		case "neighbour":
			await recorder.addNeighbour(step, `step ${run.session.conversation.record.nextStepIndex}`);
			break;
		case "last-conversations":
			await rewriteLastConversations(run, step);
			break;
	}
	return "go-on";
}

async function fork(run: TurnRun, id: string | undefined): Promise<void> {
	const { conversation, simulation, database } = run.session;
	if (database === undefined) return;
	const childId = id ?? childConversationId(conversation.id, FORK_GROUP - 2);
	const { forkDatabase } = await import("../../database/fork.ts");
	forkDatabase(simulation.home, database.database, childId);
	const record = JSON.stringify({ ...conversation.record, id: childId });
	writeFileSync(join(simulation.home.conversationsPath, `${childId}.json`), `${record}\n`, { mode: 0o600 });
}

/** In place and without a lock: whoever reads between the two halves sees the first alone. */
async function rewriteLastConversations(run: TurnRun, step: StepOf<"last-conversations">): Promise<void> {
	const { simulation, conversation, workspace } = run.session;
	const path = join(simulation.home.cachePath, "last_conversations.json");
	const last = { ...JSON.parse(readFileSync(path, "utf8")), [workspace]: step.conversation ?? conversation.id };
	const text = `${JSON.stringify(last)}\n`;
	const file = openSync(path, "w");
	try {
		writeSync(file, text.slice(0, text.length / 2));
		if (step.marker !== undefined) touchMarker(simulation.home, simulation.journal, step.marker);
		if (step.gate !== undefined) await waitForGate(simulation.home, step.gate, run.signal);
		writeSync(file, text.slice(text.length / 2));
	} finally {
		closeSync(file);
	}
}
