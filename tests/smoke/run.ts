/** One smoke run: the script on agy and on the simulator, the differences, and the file that tells them. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/main/config.ts";
import { type Difference, differencesOf } from "./difference.ts";
import { type Recording, record } from "./recording.ts";
import { EXPECTED, SCRIPT } from "./script.ts";
import { type TurnShape, toFrames } from "./shape.ts";
import { toScenario, toSkeletons } from "./skeleton.ts";

export const SIMULATOR = join(import.meta.dirname, "..", "agy-sim", "agy");

export type SmokeOptions = {
	readonly env: Readonly<Record<string, string>>;
	/** The simulator plays agy, with this scenario file: for a test of the smoke run itself. Default: the agy of AGY_BIN or PATH. */
	readonly scenario?: string;
	readonly say: (line: string) => void;
};

export type SmokeResult = { readonly path: string; readonly differences: readonly Difference[] };

/** Throws when agy cannot be run, or a turn does not end. */
export async function smoke({ env, scenario, say }: SmokeOptions): Promise<SmokeResult> {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "pi-agy-smoke-")));
	try {
		const simulated = (name: string, setting: string, more: Readonly<Record<string, string>> = {}) => {
			const home = join(folder, name, "sim");
			mkdirSync(home, { recursive: true, mode: 0o700 });
			return { ...env, AGY_BIN: SIMULATOR, AGY_SIM_HOME: home, AGY_SIM_SCENARIO: setting, ...more };
		};
		say(scenario === undefined ? "Turns of agy:" : "Turns of the simulator in agy's place:");
		const agyEnv = scenario === undefined ? env : simulated("agy", scenario);
		const agy = await record(join(folder, "agy"), agyEnv, (name) => say(`- ${name}`));
		const expected = join(folder, "expected.json");
		writeFileSync(expected, JSON.stringify(EXPECTED), { mode: 0o600 });
		say(`The same turns of the simulator as agy ${agy.version}.`);
		const simulator = await record(
			join(folder, "simulator"),
			simulated("simulator", expected, { AGY_SIM_VERSION: agy.version }),
			() => {},
		);
		const differences = differencesOf(agy.turns.map(toShape), simulator.turns.map(toShape));
		return { path: writeReport(env, agy, differences), differences };
	} finally {
		rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
	}
}

/** As rows of a table, the names of the columns first. */
export function toTable(differences: readonly Difference[]): readonly string[] {
	const rows = [
		["what", "where", "agy", "simulator"],
		...differences.map(({ what, where, agy, simulator }) => [what, where, agy, simulator]),
	];
	const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
	return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
}

function toShape({ name, entries, verdict }: Recording["turns"][number]): TurnShape {
	return { name, ...toFrames(entries), hasStderr: entries.some(({ dir }) => dir === "err"), verdict };
}

/** Beside the reports of `/agy report`. The script's own prompts are in it, as what a scenario answers to; nothing that agy said. */
function writeReport(env: SmokeOptions["env"], agy: Recording, differences: readonly Difference[]): string {
	const turns = agy.turns.map(({ name, entries, verdict }) => ({ name, verdict, lines: toSkeletons(entries) }));
	const scenario = toScenario(
		agy.version,
		turns.map(({ lines }, index) => ({ match: `^${toPattern(SCRIPT[index]?.prompt ?? "")}`, skeletons: lines })),
	);
	const content = { version: 1, smoke: { agy: agy.version, platform: process.platform }, differences, turns, scenario };
	const directory = join(loadConfig({ ...env }).dataDir, "reports");
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const path = join(directory, `pi-agy-smoke-${new Date().toISOString().replaceAll(/[:.]/g, "-")}.json`);
	writeFileSync(path, `${JSON.stringify(content, null, "\t")}\n`, { mode: 0o600, flag: "wx" });
	chmodSync(path, 0o600);
	return path;
}

function toPattern(text: string): string {
	return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
