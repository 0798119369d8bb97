/** The real pi on AGY_ENGINE=legacy-sqlite: turns are runs of `agy -p`, read from the database that they write. */
import { afterEach, describe, expect, it } from "vitest";
import { jsonPi, printPi } from "../support/pi-process.ts";
import { Sandbox } from "../support/sandbox.ts";
import { SdkStage } from "../support/sdk-stage.ts";
import { answer, cards, streamedText, textOf } from "../support/transcript.ts";

const LEGACY = { AGY_ENGINE: "legacy-sqlite" };
/** Such an agy says nothing on stdout but its answer, at the end. */
const SILENT = { ...LEGACY, AGY_EXTRA_ARGS: "--output-format text" };
const TOOL = { kind: "tool", name: "run_command", permission: "allowed", output: "4 passed\r\n" };
const ECHO = { steps: [{ kind: "text", text: "heard: {{prompt}}", deltaChars: 0 }] };

describe("pi", () => {
	let sandbox: Sandbox;
	afterEach(() => sandbox.close());

	it.each([
		["that names its conversation", LEGACY],
		["that names nothing", SILENT],
	])("prints the answer of an agy %s, and a later pi resumes the conversation", async (_name, env) => {
		sandbox = new Sandbox({ scenario: { database: {}, turns: [ECHO] }, env });
		sandbox.seedModels();
		const session = ["--session-dir", sandbox.sessionDir];
		const first = await printPi(sandbox, ["one", "two"], { session });
		expect([first.stdout.trimEnd(), first.stderr, first.exit?.code]).toEqual(["heard: two", "", 0]);
		const second = await printPi(sandbox, ["three"], { session: [...session, "-c"] });
		expect([second.stdout.trimEnd(), second.stderr, second.exit?.code]).toEqual(["heard: three", "", 0]);
		const resumed = sandbox.journal("start").flatMap(({ argv }) => {
			const args = argv as readonly string[];
			return args.some((arg) => arg.startsWith("--print=")) ? (args[args.indexOf("--conversation") + 1] ?? "") : [];
		});
		const conversation = "c0ffee00-0000-4000-8000-000000000001";
		expect(resumed.slice(1)).toEqual([conversation, conversation]);
	});

	it("shows tokens and a tool while the run goes on, each once", async () => {
		sandbox = new Sandbox({
			scenario: {
				database: {},
				turns: [
					{
						steps: [
							{ kind: "text", text: "I will run the tests. ", deltaChars: 0 },
							TOOL,
							{ kind: "text", text: "", deltas: ["They ", "pass", ". All four."], pauseAfter: 2, gate: "go" },
						],
					},
				],
			},
			env: SILENT,
		});
		sandbox.seedModels();
		const pi = jsonPi(sandbox, ["run the tests"]);
		await pi.record("the beginning of the answer", () => /They pass$/.test(streamedText(pi.records)));
		expect(sandbox.journal("exit").filter((entry) => entry.pid === sandbox.journal("start").at(-1)?.pid)).toEqual([]);
		sandbox.openGate("go");
		expect((await pi.finished()).code).toBe(0);
		expect(streamedText(pi.records)).toBe("I will run the tests. They pass. All four.");
		expect(cards(pi.records)).toMatchObject([{ output: "4 passed\r\n", details: { state: "done" } }]);
		expect(answer(pi.records).usage.output).toBeGreaterThan(0);
		expect(pi.stderr).toBe("");
	});

	it("says that the quota is used up", async () => {
		sandbox = new Sandbox({
			scenario: {
				database: {},
				turns: [
					{
						steps: [
							{
								kind: "api-failure",
								attempts: 2,
								error: "RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h18m58s.",
							},
						],
					},
				],
			},
			env: SILENT,
		});
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["go"]);
		expect(pi.exit?.code).toBe(1);
		expect(pi.stderr).toMatch(/quota is used up; it resets in 2h18m58s/);
	});

	it("says that no conversation of the run was found", async () => {
		sandbox = new Sandbox({ scenario: { turns: [ECHO] }, env: SILENT });
		sandbox.seedModels();
		const pi = await printPi(sandbox, ["go"]);
		expect(pi.exit?.code).toBe(1);
		expect(pi.stderr).toMatch(/No conversation of this run was found.*AGY_CONVERSATIONS_DIR/);
	});
});

describe("sessions beside each other", () => {
	const stage = new SdkStage();

	it("never swap conversations, though they say the same at once", async () => {
		const scenario = { database: {}, turns: [{ steps: [{ kind: "text", text: "{{workspace}}", deltaChars: 0 }] }] };
		const sessions = await Promise.all(Array.from({ length: 4 }, () => stage.open({ scenario, env: SILENT })));
		for (const _turn of [1, 2]) {
			const said = await Promise.all(sessions.map((session) => session.ask("where are you?")));
			expect(said).toEqual(sessions.map((session) => session.cwd));
		}
	});

	it("stop at once, and leave nothing running", async () => {
		const session = await stage.open({
			scenario: { database: {}, turns: [{ steps: [TOOL, { kind: "hang", marker: "hanging" }] }] },
			env: SILENT,
		});
		const turn = session.turn("go");
		await stage.sandbox.reached("hanging");
		await session.session.abort();
		expect(answer(await turn)).toMatchObject({ stopReason: "aborted" });
		expect(textOf(answer(await turn))).toBe("");
	});
});
