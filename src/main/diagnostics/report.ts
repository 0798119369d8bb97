/**
 * The bundle for a bug report: one private JSON file without secrets, and without content unless turns are captured. It holds the doctor's findings,
 * the settings with their places, the last events and the end of the log. The user's home folder is written as ~.
 */

import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { redact } from "../../shared/redact.ts";
import type { Config } from "../config.ts";
import { draftOf } from "../drafts.ts";
import { lastLines } from "../file-tail.ts";
import { capturesDirOf, lastFailedCapture } from "./captures.ts";
import type { Doctor } from "./doctor.ts";

export type Report = {
	readonly path: string;
	/** What is in it, a line each. */
	readonly holds: readonly string[];
};

const LOG_FILE = /^pi-agy-\d{4}-\d{2}-\d{2}\.ndjson$/;
const LOG_LINES = 200;
const LOG_TAIL_BYTES = 256 * 1024;

/** Writes `<data>/reports/pi-agy-report-<time>.json`. Throws when it cannot be written. */
export async function writeReport(
	doctor: Doctor,
	{ dataDir, childEnv, capture }: Pick<Config, "dataDir" | "childEnv" | "capture">,
): Promise<Report> {
	const logLines = await tailOf(doctor.log.directory);
	const failedTurn = capture > 0 ? await lastFailedCapture(capturesDirOf({ dataDir })) : null;
	const variablesOfAgy = Object.keys(childEnv);
	const content = JSON.stringify({ version: 1, doctor, variablesOfAgy, log: logLines, failedTurn }, null, "\t");
	const directory = join(dataDir, "reports");
	const path = join(directory, `pi-agy-report-${new Date(doctor.atMs).toISOString().replaceAll(/[:.]/g, "-")}.json`);
	await mkdir(directory, { recursive: true, mode: 0o700 });
	const draft = draftOf(path);
	try {
		await writeFile(draft, `${withoutHome(content)}\n`, { mode: 0o600 });
		await rename(draft, path);
	} catch (error) {
		await rm(draft, { force: true });
		throw error;
	}
	return {
		path,
		holds: [
			"versions, the state of agy's processes and of the worker threads",
			`${doctor.settings.length} settings with their places; arguments and addresses are masked`,
			"the names of the environment variables that agy gets to see",
			`${doctor.events.length} events without content`,
			`${doctor.drift.length} kinds of output that this version does not know, by name`,
			`the last ${logLines.length} lines of the log, credentials taken out`,
			...(failedTurn === null
				? []
				: [`the captured turn ${failedTurn.name}: your prompt and agy's answer are in it, credentials taken out`]),
		],
	};
}

/** The newest lines of the log, oldest first; none when there is no log. */
async function tailOf(directory: string): Promise<readonly unknown[]> {
	const names = await readdir(directory).catch(() => []); // Nothing was logged yet.
	const lines: string[] = [];
	for (const name of names
		.filter((candidate) => LOG_FILE.test(candidate))
		.toSorted()
		.toReversed()) {
		if (lines.length >= LOG_LINES) break;
		lines.unshift(...(await lastLines(join(directory, name), LOG_TAIL_BYTES)).filter((line) => line !== ""));
	}
	return lines.slice(-LOG_LINES).map((line) => parseLine(redact(line)));
}

function parseLine(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return line; // Cut by a full disk: kept as it stands.
	}
}

/** In a JSON text, where a path stands as it is or with its backslashes doubled. */
function withoutHome(json: string): string {
	const home = homedir();
	if (home.length < 2) return json;
	return json.replaceAll(JSON.stringify(home).slice(1, -1), "~");
}
