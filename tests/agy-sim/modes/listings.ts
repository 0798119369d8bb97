/** The subcommands that only list something: `models`, `agents`, `mcp list`. */
import { readdirSync } from "node:fs";
import { DEFAULT_MODELS } from "../command-line/model-choice.ts";
import type { Simulation } from "../engine/simulation.ts";
import { readMcpConfig } from "../integrations/mcp-config.ts";
import { waitForGate } from "../process/gates.ts";

const BANNER = "Fetching available models...";
const SIGN_IN_TEXT = "You are not signed in. Launch agy without arguments to sign in.";
const NEVER = new AbortController().signal;

/** Rows are `id<TAB>label`. */
export async function listModels(simulation: Simulation): Promise<void> {
	const { scenario, behaviour, home, stdout } = simulation;
	const models = scenario.models ?? {};
	await waitForOpenStdin(simulation);
	if (models.waitForGate !== undefined) await waitForGate(home, models.waitForGate, NEVER);
	if (behaviour.modelsBanner === "stdout") await stdout.writeLine(BANNER);
	if (behaviour.modelsBanner === "stderr") await simulation.writeStderr(BANNER);
	if (models.signedIn === false) {
		await stdout.writeLine(SIGN_IN_TEXT);
		return simulation.leave(0);
	}
	const calls = simulation.journal.countStarts((argv) => argv[0] === "models"); // this one included
	if (calls <= (models.failures ?? 0)) {
		await simulation.writeError("failed to fetch available models: UNAVAILABLE (code 503)");
		return simulation.leave(1);
	}
	for (const line of models.extraLines ?? []) await stdout.writeLine(line);
	for (const row of models.rows ?? DEFAULT_MODELS) await stdout.writeLine(`${row.id}\t${row.label}`);
	await simulation.leave(0);
}

export async function listAgents(simulation: Simulation): Promise<void> {
	await waitForOpenStdin(simulation);
	const saved = listFolder(simulation.home.agentsPath).map((name) => name.replace(/\.md$/, ""));
	for (const name of simulation.scenario.agents ?? saved) await simulation.stdout.writeLine(name);
	await simulation.leave(0);
}

export async function listMcpServers(simulation: Simulation): Promise<void> {
	await waitForOpenStdin(simulation);
	const config = readMcpConfig(simulation.home.mcpConfigPath, simulation.behaviour.mcpConfigTakesComments);
	for (const server of config.ok ? config.servers : []) {
		const where = server.serverUrl ?? server.command ?? "";
		await simulation.stdout.writeLine(`${server.name}\t${server.disabled ? "disabled" : "enabled"}\t${where}`);
	}
	await simulation.leave(0);
}

/** Older versions do not go on before an open stdin is closed. */
async function waitForOpenStdin(simulation: Simulation): Promise<void> {
	if (!simulation.behaviour.subcommandsReadStdin) return;
	await new Promise<void>((resolve) => {
		process.stdin.on("end", resolve).on("error", () => resolve());
		process.stdin.resume();
	});
}

function listFolder(path: string): readonly string[] {
	try {
		return readdirSync(path).sort();
	} catch {
		return []; // no agents
	}
}
