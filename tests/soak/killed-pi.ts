/** Real pi processes that are killed in the middle of turns of an agy that ignores signals: nothing of them may be left. */
import { until } from "../support/condition.ts";
import { PiProcess, printPi } from "../support/pi-process.ts";
import { guardiansOf, isRunning, killQuietly } from "../support/process-table.ts";
import { Sandbox } from "../support/sandbox.ts";
import { dataChecks } from "./leftovers.ts";
import type { Report } from "./report.ts";
import { promptOf, SCENARIO } from "./scenario.ts";

const PIS = 2;
const NAME = "a killed pi leaves nothing";
/** Starting pi takes seconds on a busy machine. */
const DEADLINE_MS = 90_000;

/** `killsGuardians`: then it is the next pi that cleans up. */
export async function killPis(report: Report, round: number, killsGuardians: boolean): Promise<void> {
	const how = killsGuardians ? "with its guardian" : "alone";
	const sandbox = new Sandbox({ scenario: SCENARIO });
	const pis: PiProcess[] = [];
	try {
		sandbox.seedModels();
		for (let index = 0; index < PIS; index++)
			pis.push(
				new PiProcess(sandbox, ["-p", promptOf("deaf", `${index}.0`, 0)], {
					session: ["--session-dir", sandbox.sessionDir],
				}),
			);
		const deaf = () => sandbox.journal("reached").map(({ pid }) => pid);
		await until(
			() => `${PIS} turns that run; pi said: ${pis.map(({ stderr }) => stderr).join("; ")}`,
			() => deaf().length === PIS,
			DEADLINE_MS,
		);
		const guardians = pis.flatMap(({ pid }) => guardiansOf(pid));
		report.check(NAME, guardians.length === PIS ? "" : `${guardians.length} guardians of ${PIS} pi`);
		sandbox.noteGuardians(guardians);
		const left = [...deaf(), ...(killsGuardians ? [] : guardians)];
		if (killsGuardians) for (const pid of guardians) killQuietly(pid);
		for (const pi of pis) pi.kill("SIGKILL");
		for (const pi of pis) await pi.finished();
		report.fault("killed-pi");
		const prompt = promptOf("short", "9.0", 0);
		const next = await printPi(sandbox, [prompt]);
		report.check(
			"the next pi works",
			next.stdout.trimEnd() === prompt ? "" : `it said "${next.stdout}" "${next.stderr}"`,
		);
		const running = () => left.filter(isRunning);
		await until(
			() => "nothing left",
			() => running().length === 0,
			20_000,
		).catch(() => {}); // Told by the check.
		report.check(
			NAME,
			running().length === 0 ? "" : `round ${round}, killed ${how}: ${running().length} processes run on`,
		);
		for (const { name, problem } of dataChecks(sandbox))
			report.check(NAME, problem() === "" ? "" : `round ${round}, killed ${how}: not so: ${name}; ${problem()}`);
	} catch (error) {
		report.check(NAME, `round ${round}, killed ${how}: ${error}`);
	} finally {
		for (const pi of pis) pi.destroy();
		await sandbox.close().catch((error: unknown) => report.check(NAME, `round ${round}, killed ${how}: ${error}`));
	}
}
