/**
 * Entry of the agy simulator: reads its own settings and the scenario, then does what the arguments ask for. Each mode is
 * loaded only when it is asked for, because tests start this hundreds of times.
 */
import { type Command, parseCommand, USAGE_TEXT } from "./command-line/command.ts";
import { Simulation } from "./engine/simulation.ts";
import { readSettings } from "./process/settings.ts";
import { loadScenario } from "./scenario/load.ts";

const SIMULATOR_MISTAKE_EXIT_CODE = 70;
const REFUSED_EXIT_CODE = 2;

// The launcher's own; agy would not hand them to its children.
delete process.env.NODE_COMPILE_CACHE;
delete process.env.AGY_SIM_PROGRAM;
void main(process.argv.slice(2)); // not awaited here, because a CommonJS build of this cannot

async function main(argv: readonly string[]): Promise<void> {
	const simulation = await openSimulation(argv).catch((error: unknown) => {
		process.stderr.write(`agy-sim: ${error instanceof Error ? error.message : error}\n`);
		process.exit(SIMULATOR_MISTAKE_EXIT_CODE);
	});
	await runCommand(simulation, parseCommand(argv, simulation.version, simulation.behaviour));
}

async function openSimulation(argv: readonly string[]): Promise<Simulation> {
	const settings = readSettings(process.env);
	return new Simulation(settings, await loadScenario(settings.scenario), argv);
}

async function runCommand(simulation: Simulation, command: Command): Promise<void> {
	switch (command.kind) {
		case "version":
			await simulation.stdout.writeLine(simulation.scenario.versionText ?? simulation.version);
			return simulation.leave(0);
		case "help":
			await simulation.stdout.writeLine(USAGE_TEXT);
			return simulation.leave(0);
		case "refused":
			await simulation.writeStderr(command.showUsage ? command.message : `error: ${command.message}`);
			if (command.showUsage) await simulation.writeStderr(USAGE_TEXT);
			return simulation.leave(REFUSED_EXIT_CODE);
		case "models":
			return (await import("./modes/listings.ts")).listModels(simulation);
		case "agents":
			return (await import("./modes/listings.ts")).listAgents(simulation);
		case "mcp-list":
			return (await import("./modes/listings.ts")).listMcpServers(simulation);
		case "run":
			break;
	}
	const { options } = command;
	if (options.streamInput) return (await import("./modes/stream-json.ts")).runStreamJson(simulation, options);
	if (options.prompt !== undefined)
		return (await import("./modes/print.ts")).runPrint(simulation, options, options.prompt);
	await simulation.writeError("there is no terminal for the interactive interface; give a prompt with -p");
	return simulation.leave(1);
}
