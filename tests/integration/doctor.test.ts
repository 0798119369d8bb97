/** `/agy doctor`, `report`, `quota`, `clear` and `conversations` in a real pi on which turns ran, and in one without agy. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Doctor } from "../../src/main/diagnostics/doctor.ts";
import type { Quota } from "../../src/main/diagnostics/quota.ts";
import type { Report } from "../../src/main/diagnostics/report.ts";
import type { BoundConversation } from "../../src/main/sessions.ts";
import { play } from "../replay/play.ts";
import { printPi } from "../support/pi-process.ts";
import { RpcClient } from "../support/rpc-client.ts";
import { Sandbox } from "../support/sandbox.ts";

type Entry = {
	readonly type: string;
	readonly entry?: { readonly data?: { readonly text: string; readonly level: string } };
};
type Conversations = { readonly conversations: readonly (BoundConversation & { readonly isHere: boolean })[] };

const SECRET_PROMPT = "the content of my diary";
const SCENARIO = {
	turns: [
		{
			match: "^oddly",
			steps: [
				{ kind: "event", event: "mood", payload: { text: "happy" } },
				{ kind: "text", text: "Odd." },
			],
		},
		{
			match: "^fail",
			steps: [
				{ kind: "text", text: "half", finish: "none" },
				{ kind: "crash", exitCode: 7 },
			],
		},
		{ steps: [{ kind: "text", text: "{{prompt}}" }] },
	],
};

describe("in a pi on which turns ran", () => {
	let sandbox: Sandbox;
	let pi: RpcClient;

	beforeAll(() => {
		sandbox = new Sandbox({ scenario: SCENARIO, env: { AGY_EXTRA_ARGS: "--log-file /dev/null" } });
		sandbox.seedModels();
		pi = new RpcClient(sandbox, { session: ["--session-dir", sandbox.sessionDir] });
	});
	afterAll(() => sandbox.close());

	/** The text that a command puts below the conversation. */
	async function answerTo(command: string): Promise<string> {
		const from = pi.records.length;
		await pi.command(command);
		const isAnswer = (record: unknown) => (record as Entry).type === "entry_appended";
		const record = await pi.pi.record(`an answer to ${command}`, isAnswer, from);
		return (record as unknown as Entry).entry?.data?.text ?? "";
	}

	const jsonOf = async <T>(command: string): Promise<T> => JSON.parse(await answerTo(`${command} --json`));
	const doctorOf = () => jsonOf<Doctor>("/agy doctor");
	const conversations = async () => (await jsonOf<Conversations>("/agy conversations")).conversations;

	it("tells what runs, what was unknown, and how busy the threads are", async () => {
		await pi.prompt(SECRET_PROMPT);
		await pi.prompt("oddly enough");
		const doctor = await doctorOf();
		expect(doctor.problems).toEqual([]);
		expect(doctor.isHealthy).toBe(true);
		expect(doctor.agy).toMatchObject({ path: sandbox.env.AGY_BIN, version: "1.2.17", needs: "1.1.15" });
		expect(doctor.links).toMatchObject({ started: 1, reused: 1, recycled: { profile: 0, idle: 0 } });
		expect(doctor.links.open).toMatchObject([{ state: "idle", turns: 2, pid: sandbox.runs()[0]?.pid }]);
		expect(doctor.conversations).toEqual({ bound: 1, here: doctor.links.open[0]?.conversation });
		expect(doctor.models).toMatchObject({ count: 1, isListed: true });
		expect(doctor.drift).toEqual([{ what: "event", name: "mood", count: 1 }]);
		const [lane, ...others] = doctor.workers.lanes;
		expect(others).toEqual([]);
		expect(lane).toMatchObject({ kind: "decode", links: 1, stats: { rejectedLines: 0, pausedLinks: 0 } });
		expect(lane?.stats?.decode.count).toBeGreaterThan(0);
		expect(lane?.stats?.tick.count).toBeGreaterThan(0);
		expect(doctor.workers.mainLoopDelay.count).toBeGreaterThan(0);
		const events = doctor.events.map(({ mark }) => mark.event);
		expect(events).toEqual([
			...["extension-load", "spawn", "turn-start", "turn-end", "turn-start", "turn-end", "agy-command"],
		]);
		expect(JSON.stringify(doctor)).not.toMatch(/diary|happy|Odd\./);
	});

	it("says the same as text, with the verdict on top", async () => {
		const text = await answerTo("/agy doctor");
		expect(text.split("\n")[0]).toBe("healthy");
		expect(text).toMatch(/processes +1 open, 1 started, 1 turn on one that ran before, none recycled/);
		expect(text).toMatch(/decode lane 1: thread \d+, 1 link,/);
		expect(text).toContain("event mood: 1");
		expect(text).toMatch(/extraArgs = \["\(2 arguments\)"\] +from AGY_EXTRA_ARGS/);
		expect(text).not.toContain("/dev/null");
	});

	it("tells the quota, and remembers it", async () => {
		expect(await answerTo("/agy quota")).toMatch(/^Gemini\n {2}5h +█{10}░{10} +50 % left, resets in/);
		const asked = sandbox.journal("start").length;
		const { groups, ageMs } = await jsonOf<Quota & { readonly ageMs: number }>("/agy quota");
		expect(groups[0]?.buckets[0]).toMatchObject({ id: "gemini-5h", remaining: 0.5 });
		expect(ageMs).toBeLessThan(30_000);
		expect(sandbox.journal("start")).toHaveLength(asked);
		expect((await doctorOf()).quota?.groups).toEqual(groups);
	});

	it("names the last turn's failure, and writes a private report without content", async () => {
		await pi.prompt("fail now");
		const doctor = await doctorOf();
		expect(doctor.problems).toMatchObject([{ what: expect.stringMatching(/^The last turn failed .*: crashed\.$/) }]);
		expect(doctor.drift).toContainEqual({ what: "exit", name: "code-7", count: 1 });

		const { path, holds } = await jsonOf<Report>("/agy report");
		expect(path.startsWith(`${sandbox.agentDir}/pi-agy/reports/pi-agy-report-`)).toBe(true);
		expect(holds.length).toBeGreaterThan(3);
		expect(statSync(path).mode & 0o777).toBe(0o600);
		expect(statSync(`${sandbox.agentDir}/pi-agy/reports`).mode & 0o777).toBe(0o700);
		const source = readFileSync(path, "utf8");
		const report = JSON.parse(source);
		expect(report.doctor.drift).toEqual(doctor.drift);
		expect(report.log.at(-1)).toMatchObject({ level: "error", event: "turn-error", facts: { kind: "crashed" } });
		expect(report.variablesOfAgy).toContain("AGY_BIN");
		expect(source).not.toMatch(/diary|happy|\/dev\/null|fail now/);
		expect(source).not.toContain(sandbox.path); // It is the home of this pi.
	});

	it("lists the conversations, names one, and forgets this session's", async () => {
		const [row] = await conversations();
		expect(row).toMatchObject({ isHere: true, name: "", cwd: sandbox.workspace, engineId: "stream-json" });
		const start = row?.conversationId.slice(0, 6);
		await pi.command(`/agy conversations rename ${start} the good one`);
		expect(await answerTo("/agy conversations --json")).toContain('"the good one"');
		expect(await jsonOf("/agy clear")).toEqual({ cleared: row?.conversationId });
		expect(await conversations()).toEqual([]);
		await pi.prompt("after the clearing");
		const [fresh] = await conversations();
		expect(fresh?.conversationId).not.toBe(row?.conversationId);
		expect(sandbox.runs().at(-1)?.argv).not.toContain("--conversation");
		const { events } = await doctorOf();
		expect(events.map(({ mark }) => mark.command)).toContain("clear");
	});

	it("ends with its input and leaves nothing", async () => {
		expect(await pi.close()).toEqual({ code: 0, signal: null });
		expect(pi.pi.stderr).toBe("");
	});
});

describe("with AGY_CAPTURE", () => {
	it("captures the turns of a print run, whole, in private files", async () => {
		const sandbox = new Sandbox({ env: { AGY_CAPTURE: "1" } });
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["first words", "second words"]);
		expect([pi.exit?.code, pi.stderr]).toEqual([0, ""]);
		const folder = `${sandbox.agentDir}/pi-agy/captures`;
		const [name = "", ...others] = readdirSync(folder);
		expect(others).toEqual([]);
		expect(statSync(`${folder}/${name}`).mode & 0o777).toBe(0o600);
		const lines = await play(readFileSync(`${folder}/${name}`, "utf8"));
		expect([lines[0], lines[1], lines.at(-1)]).toEqual(["> second words", "second words", "verdict: complete"]);
		await sandbox.close();
	});
});

describe("without agy", () => {
	it("says first what to do, on stdout of a print run", async () => {
		const sandbox = new Sandbox({ env: { AGY_BIN: "/nowhere/agy", AGY_DIGEST: "perhaps" } });
		const pi = await printPi(sandbox, ["/agy doctor"]);
		const lines = pi.stdout.split("\n");
		expect(lines[0]).toMatch(
			/^Fix first: agy was not found: AGY_BIN is \/nowhere\/agy, which does not exist\. Install/,
		);
		expect(lines[1]).toMatch(/^Also: AGY_DIGEST is "perhaps", which is not understood/);
		expect(pi.stdout).toMatch(/agy +not usable \(needs 1\.1\.15/);
		expect(pi.stdout).toMatch(/models +\d+, built in/);
		expect([pi.exit?.code, pi.stderr]).toEqual([0, ""]);
		await sandbox.close();
	});
});
