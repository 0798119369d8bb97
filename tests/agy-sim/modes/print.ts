/**
 * `-p`: one prompt, one turn, in any output format. Slash commands of the CLI are answered without the model.
 */
import type { RunOptions } from "../command-line/command.ts";
import type { Session } from "../engine/session.ts";
import type { Simulation } from "../engine/simulation.ts";
import { startSession } from "../engine/start-session.ts";
import { runStoppableTurn } from "../engine/stoppable-turn.ts";
import { NO_USAGE } from "../wire/usage.ts";

const COMMAND_SECONDS = 0.4;

const DEFAULT_USAGE = {
	groups: [
		{
			name: "Gemini",
			buckets: [
				{ id: "gemini-weekly", remaining_fraction: 0.75, reset_time: "2030-01-07T00:00:00Z", window: "weekly" },
				{ id: "gemini-5h", remaining_fraction: 0.5, reset_time: "2030-01-01T05:00:00Z", window: "5h" },
			],
		},
		{
			name: "Third-party",
			buckets: [
				{ id: "3p-weekly", remaining_fraction: 1, reset_time: "2030-01-07T00:00:00Z", window: "weekly" },
				{ id: "3p-5h", remaining_fraction: 1, reset_time: "2030-01-01T05:00:00Z", window: "5h" },
			],
		},
	],
};

export async function runPrint(simulation: Simulation, options: RunOptions, prompt: string): Promise<void> {
	const session = await startSession(simulation, options);
	await session.announce();
	const command = options.slashCommands ? answerOf(session, prompt.trim()) : undefined;
	if (command !== undefined) {
		await reportCommand(session, command);
		return simulation.leave(0);
	}
	const end = await runStoppableTurn(session, prompt);
	await simulation.leave(end.oneShotExitCode);
}

type CommandAnswer = { readonly name: string; readonly data: unknown; readonly text: string };

function answerOf(session: Session, prompt: string): CommandAnswer | undefined {
	switch (prompt) {
		case "/usage": {
			const data = session.simulation.scenario.usage ?? DEFAULT_USAGE;
			return { name: "usage", data, text: JSON.stringify(data, undefined, 2) };
		}
		case "/model": {
			const model = session.model ?? "Gemini 3.6 Flash (Low)";
			return { name: "model", data: { model }, text: model };
		}
		default:
			return undefined;
	}
}

async function reportCommand(session: Session, command: CommandAnswer): Promise<void> {
	const isText = session.options.output === "text";
	await session.reporter.result({
		conversationId: session.conversation.id,
		status: "SUCCESS",
		response: isText ? command.text : "",
		durationSeconds: COMMAND_SECONDS,
		numTurns: 0,
		usage: NO_USAGE,
		command: { name: command.name, data: command.data },
	});
}
