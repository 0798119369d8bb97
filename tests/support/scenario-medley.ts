/**
 * Many scenarios of the simulated agy in one, for one process: a prompt that is the name of one gets its turn. Only for
 * scenarios that are one turn and nothing else, where it makes no difference which process says it.
 */
import { loadScenario } from "../agy-sim/scenario/load.ts";
import type { ScenarioData } from "./sandbox.ts";

/** Throws for a scenario that is more than a turn. A name has no special characters of a regular expression. */
export async function medleyOf(scenarios: Readonly<Record<string, string | ScenarioData>>): Promise<ScenarioData> {
	const named = Object.entries(scenarios).map(async ([name, scenario]) => {
		const { about: _about, turns, ...more } = typeof scenario === "string" ? await loadScenario(scenario) : scenario;
		const [turn, ...others] = turns;
		if (!turn || "match" in turn || others.length > 0 || Object.keys(more).length > 0)
			throw new Error(`the scenario "${name}" is more than one turn and needs a process of its own`);
		return { ...turn, match: `^${name}$` };
	});
	return { turns: await Promise.all(named) };
}
