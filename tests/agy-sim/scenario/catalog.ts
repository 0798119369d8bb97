/**
 * The built-in scenarios by name. They live in families, one file each, loaded in this order only until the name is found:
 * a start should not pay for families it does not use.
 */
import type { Scenario } from "./scenario.ts";

/** Some scenarios take numbers: `steady:deltas=500,bytes=32,rate=100`. */
export type BuiltIn = Scenario | ((args: Readonly<Record<string, number>>) => Scenario);
export type ScenarioFamily = Readonly<Record<string, BuiltIn>>;

const FAMILIES: readonly (() => Promise<ScenarioFamily>)[] = [
	async () => (await import("../scenarios/plain.ts")).PLAIN,
	async () => (await import("../scenarios/demo.ts")).DEMO,
	async () => (await import("../scenarios/lifecycle.ts")).LIFECYCLE,
	async () => (await import("../scenarios/start-up.ts")).START_UP,
	async () => (await import("../scenarios/steps.ts")).STEPS,
	async () => (await import("../scenarios/tools.ts")).TOOLS,
	async () => (await import("../scenarios/verdicts.ts")).VERDICTS,
	async () => (await import("../scenarios/framing.ts")).FRAMING,
	async () => (await import("../scenarios/integrations.ts")).INTEGRATIONS,
	async () => (await import("../scenarios/database.ts")).DATABASE_FAULTS,
];

export async function findBuiltIn(name: string): Promise<BuiltIn | undefined> {
	for (const load of FAMILIES) {
		const family = await load();
		if (Object.hasOwn(family, name)) return family[name];
	}
	return undefined;
}

export async function listBuiltIns(): Promise<readonly string[]> {
	const families = await Promise.all(FAMILIES.map((load) => load()));
	return families.flatMap((family) => Object.keys(family));
}
