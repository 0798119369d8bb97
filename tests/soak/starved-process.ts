/** Starts few-descriptors.ts under a low limit and judges what it says. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { within } from "../support/condition.ts";
import type { FewDescriptorsResult } from "./few-descriptors.ts";
import type { Report } from "./report.ts";

const PROGRAM = join(import.meta.dirname, "few-descriptors.ts");
const LIMIT = 200;
const DEADLINE_MS = 150_000;
const NAME = "turns without descriptors end, and the next ones work";

export async function starveProcess(report: Report, round: number): Promise<void> {
	const child = spawn("/bin/sh", ["-c", `ulimit -n ${LIMIT} && exec "$0" "$1"`, process.execPath, PROGRAM], {
		env: process.env,
		stdio: ["ignore", "pipe", "pipe"],
	});
	let stdout = "";
	let stderr = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		stdout += text;
	});
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr += text;
	});
	const stopAtExit = () => child.kill("SIGTERM");
	process.once("exit", stopAtExit);
	const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
	try {
		const code = await within("the end of the process with few descriptors", closed, DEADLINE_MS);
		const line = stdout.trimEnd().split("\n").at(-1) ?? "";
		const result = line.startsWith("{") ? (JSON.parse(line) as FewDescriptorsResult) : null;
		if (code !== 0 || result === null) {
			report.check(NAME, `round ${round}: exit code ${code}, ${stdout.slice(-500)} ${stderr.slice(-1_500)}`);
			return;
		}
		report.fault("few-descriptors");
		const failed = result.outcomes.filter((outcome) => outcome === "short of descriptors: error").length;
		report.check(NAME, result.problems.join("; "));
		report.check("a lack of descriptors was felt", failed > 0 ? "" : `none of ${result.outcomes.length} turns failed`);
	} catch (error) {
		stopAtExit();
		report.check(NAME, `round ${round}: ${error}; ${stderr.slice(-1_500)}`);
	} finally {
		process.removeListener("exit", stopAtExit);
	}
}
