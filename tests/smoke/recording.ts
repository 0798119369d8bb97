/** Runs the script on one agy through the lanes of pi-agy, which capture every turn, and tells the captured lines of each. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Binary, BinaryProbe } from "../../src/main/binary.ts";
import { type Config, loadConfig } from "../../src/main/config.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import type { Link } from "../../src/main/link.ts";
import { parseModelRows } from "../../src/main/models.ts";
import { runCommand } from "../../src/main/processes/run.ts";
import { CAPTURE_FILE, type CaptureEntry } from "../../src/shared/capture.ts";
import { play } from "../replay/play.ts";
import { until } from "../support/condition.ts";
import { LaneRig, type RigPlace, submit } from "../support/lane-rig.ts";
import { FILE, SCRIPT } from "./script.ts";

export type RecordedTurn = {
	readonly name: string;
	readonly entries: readonly CaptureEntry[];
	readonly verdict: string;
};

export type Recording = { readonly version: string; readonly turns: readonly RecordedTurn[] };

/** A real model may think for minutes. */
const TURN_TIMEOUT_MS = 5 * 60_000;
const MODELS = { timeoutMs: 30_000, maxBytes: 1024 * 1024 };

/** `folder` is private and empty; `env` says which agy is run. Throws when a turn does not end. */
export async function record(
	folder: string,
	env: Readonly<Record<string, string>>,
	onTurn: (name: string) => void,
): Promise<Recording> {
	const place = toPlace(folder, env);
	const captures = join(folder, "captures");
	const config = loadConfig(place.env);
	const rig = new LaneRig(place, { directory: captures, turns: SCRIPT.length });
	try {
		const failed: unknown[] = [];
		const probe = new BinaryProbe(new JsonStore(join(folder, "binaries.json")), rig.registry, (error) =>
			failed.push(error),
		);
		const binary = await probe.find(config, streamJsonEngine.requires);
		const open = (conversationId: string | null) => openLink(rig, binary, config, conversationId);
		let link = await open(null);
		const turns: RecordedTurn[] = [];
		for (const { name, prompt, resumes } of SCRIPT) {
			onTurn(name);
			if (resumes) {
				const { conversationId } = link;
				await link.close();
				link = await open(conversationId);
			}
			const heard = submit(link, prompt);
			await until(`the end of the turn ${name}`, () => heard.isDone || heard.end !== null, TURN_TIMEOUT_MS);
			const source = await until(`the capture of the turn ${name}`, () => captureOf(captures, turns.length));
			const entries = source
				.split("\n")
				.flatMap((line) => (line.includes('"dir"') ? [JSON.parse(line) as CaptureEntry] : []));
			turns.push({ name, entries, verdict: toVerdict(await play(source)) });
			if (heard.end !== null) throw new Error(`agy ended in the turn ${name} (${turns.at(-1)?.verdict}).`);
		}
		return { version: binary.version, turns };
	} finally {
		await rig.close();
	}
}

async function openLink(rig: LaneRig, binary: Binary, config: Config, conversationId: string | null): Promise<Link> {
	const { path: bin, missingFlags } = binary;
	const listed = await runCommand({ bin, args: ["models"], env: config.childEnv, ...MODELS }, rig.registry);
	const slugs = listed.ok ? parseModelRows(listed.stdout).map(({ slug }) => slug) : [];
	const [first] = slugs;
	if (first === undefined) throw new Error("agy lists no model: it is not signed in. Run it once in a terminal.");
	const modelSlug = slugs.find((slug) => slug.endsWith("-low")) ?? first; // What costs least.
	return rig.open({ bin, missingFlags, modelSlug, conversationId });
}

function toPlace(folder: string, env: Readonly<Record<string, string>>): RigPlace {
	const [agentDir, workspace] = [join(folder, "agent"), join(folder, "work")];
	for (const directory of [agentDir, workspace]) mkdirSync(directory, { recursive: true, mode: 0o700 });
	writeFileSync(join(workspace, FILE.name), FILE.content, { mode: 0o600 });
	return {
		...{ path: folder, agentDir, workspace },
		env: { ...env, PI_CODING_AGENT_DIR: agentDir },
		conversationsDir: "", // Of one-shot engines only.
		scenarioSetting: (scenario) => {
			if (typeof scenario === "string") return scenario;
			throw new Error("a scenario is given by the environment");
		},
		noteGuardians: () => {},
	};
}

/** The capture of a turn, when it is whole: they sort by time. */
function captureOf(directory: string, turn: number): string | null {
	if (!existsSync(directory)) return null;
	const name = readdirSync(directory)
		.filter((candidate) => CAPTURE_FILE.test(candidate))
		.toSorted()[turn];
	return name === undefined ? null : readFileSync(join(directory, name), "utf8");
}

/** Its kind alone: the rest may quote agy. */
function toVerdict(lines: readonly string[]): string {
	return /^verdict: ([\w-]+)/.exec(lines.at(-1) ?? "")?.[1] ?? "none";
}
