/** From the scenario's `database` block to the recorder of a session. The only file the engine loads of this folder. */
import type { RunOptions } from "../command-line/command.ts";
import type { Conversation } from "../engine/conversation.ts";
import type { Simulation } from "../engine/simulation.ts";
import { touchMarker, waitForGate } from "../process/gates.ts";
import { isAtLeast } from "../scenario/behaviour.ts";
import type { PauseScript } from "../scenario/database.ts";
import type { StopAt } from "./commits.ts";
import { Recorder } from "./recorder.ts";

const GENERIC_SINCE = "1.2.0";

export async function openRecorder(
	simulation: Simulation,
	conversation: Conversation,
	options: RunOptions,
): Promise<Recorder> {
	const database = simulation.scenario.database ?? {};
	const recorder = new Recorder({
		home: simulation.home,
		options: database,
		writer: {
			schema: database.schema ?? {},
			exclusive: database.locking === "exclusive",
			journal: database.journal ?? "wal",
			commitMs: database.commitMs ?? 0,
			stopAt: pausesOf(simulation, database.pauses ?? []),
		},
		dialect: database.dialect ?? (isAtLeast(simulation.version, GENERIC_SINCE) ? "generic" : "kinds"),
		trajectory: {
			conversationId: conversation.id,
			workspaces: options.addDirs.length === 0 ? [] : [conversation.record.workspace],
		},
	});
	simulation.onLeave(() => recorder.close());
	if (database.createdAt !== "first-turn") await recorder.open();
	return recorder;
}

function pausesOf(simulation: Simulation, pauses: readonly PauseScript[]): StopAt {
	return async (place, commitNumber, signal) => {
		for (const pause of pauses) {
			if (pause.at !== place || (pause.number ?? commitNumber) !== commitNumber) continue;
			const suffix = commitNumber > 0 && pause.number === undefined ? `-${commitNumber}` : "";
			await simulation.stdout.flush(); // what was said before the marker is on the pipe
			if (pause.marker !== undefined) touchMarker(simulation.home, simulation.journal, `${pause.marker}${suffix}`);
			if (pause.gate !== undefined) await waitForGate(simulation.home, `${pause.gate}${suffix}`, signal);
		}
	};
}
