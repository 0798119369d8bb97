/** The delegation tool in sessions of pi whose model is another provider's: what it asks agy, what comes back, and when not. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage, fauxProvider, fauxToolCall } from "@earendil-works/pi-ai";
import type { ExtensionAPI, ExtensionFactory, JsonAgentSessionEvent } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/main/config.ts";
import { ConversationLocks } from "../../src/main/conversation-locks.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { HubShare } from "../../src/main/hub.ts";
import { Catalog } from "../../src/main/models.ts";
import { AskTool } from "../../src/main/tools/ask-antigravity.ts";
import { ASK_TOOL_NAME } from "../../src/main/tools/ask-parameters.ts";
import type { AskDetails } from "../../src/main/tools/ask-report.ts";
import { AskToolSwitch } from "../../src/main/tools/ask-switch.ts";
import { until } from "../support/condition.ts";
import type { SdkSession } from "../support/sdk-session.ts";
import { SdkStage, type StageOptions } from "../support/sdk-stage.ts";

const stage = new SdkStage();

type Arguments = Record<string, unknown>;
type Outcome = { readonly texts: readonly string[]; readonly isError: boolean; readonly details: AskDetails };

/** A session whose model calls the tool when it is told to. */
class Asking {
	readonly pi: SdkSession;
	readonly #faux: ReturnType<typeof fauxProvider>;

	private constructor(pi: SdkSession, faux: ReturnType<typeof fauxProvider>) {
		this.pi = pi;
		this.#faux = faux;
	}

	static async open(options: StageOptions = {}): Promise<Asking> {
		const faux = fauxProvider({ provider: "faux" });
		const register = (pi: ExtensionAPI) => pi.registerProvider(faux.provider);
		const pi = await stage.open({ ...options, extensions: [register, ...(options.extensions ?? [])] });
		await pi.session.setModel(faux.getModel());
		return new Asking(pi, faux);
	}

	/** One turn in which the model makes these calls at once. */
	async askAll(calls: readonly Arguments[]): Promise<readonly Outcome[]> {
		return outcomes(await this.begin(calls));
	}

	async ask(args: Arguments): Promise<Outcome> {
		return (await this.askAll([args]))[0] as Outcome;
	}

	begin(calls: readonly Arguments[]): Promise<readonly JsonAgentSessionEvent[]> {
		this.#faux.setResponses([
			fauxAssistantMessage(
				calls.map((args) => fauxToolCall(ASK_TOOL_NAME, args as never)),
				{ stopReason: "toolUse" },
			),
			fauxAssistantMessage("I have asked."),
		]);
		return this.pi.turn("ask agy");
	}

	/** What the card was last told. */
	get shown(): AskDetails | undefined {
		const updates = this.pi.records.flatMap((record) => (record.type === "tool_execution_update" ? [record] : []));
		return updates.at(-1)?.partialResult.details as AskDetails | undefined;
	}
}

function outcomes(records: readonly JsonAgentSessionEvent[]): readonly Outcome[] {
	return records.flatMap((record) => {
		if (record.type !== "tool_execution_end") return [];
		const content = record.result.content as readonly { readonly text: string }[];
		return { texts: content.map(({ text }) => text), isError: record.isError, details: record.result.details };
	});
}

function conversationOf({ texts }: Outcome): string {
	return /^conversationId: (\S+)$/.exec(texts.at(-1)?.split("\n").at(-1) ?? "")?.[1] ?? "";
}

function flag(argv: readonly string[] | undefined, name: string): string | undefined {
	return argv?.[argv.indexOf(name) + 1];
}

function agyOf({ pi }: Asking): readonly string[] | undefined {
	return pi.runs().at(-1)?.argv;
}

function says(text: string): { readonly turns: readonly object[] } {
	return { turns: [{ steps: [{ kind: "text", text }] }] };
}

/** One session for the cases of a describe: to the next run it is as good as a new one. It echoes unless told otherwise. */
function shareAsking(options: StageOptions = {}): () => Asking {
	let asking: Asking | undefined;
	beforeAll(async () => {
		asking = await Asking.open({ ...options, isKept: true });
	});
	afterAll(() => asking?.pi.close());
	return () => {
		if (!asking) throw new Error("the session did not open");
		return asking;
	};
}

const PI_FLAGS = ["--disable-slash-commands", "--dangerously-skip-permissions"];

describe("a delegated run", () => {
	const shared = shareAsking();

	describe("of a prompt and files", () => {
		let outcome: Outcome;
		beforeAll(async () => {
			writeFileSync(join(shared().pi.cwd, "a.txt"), "a");
			outcome = await shared().ask({ prompt: "What is it?", files: ["a.txt"] });
		});

		it("answers, with the conversation on its last line and what it was in the details", () => {
			expect(outcome).toMatchObject({
				isError: false,
				texts: [expect.stringMatching(/What is it\?$/), expect.stringMatching(/^conversationId: /)],
			});
			expect(outcome.details).toMatchObject({
				state: "done",
				model: "gemini-3.8-flash",
				slug: "gemini-3.8-flash-medium",
				thinking: "medium",
				mode: "default",
				conversationId: conversationOf(outcome),
				verdict: "complete",
				timedOut: false,
				aborted: false,
				stepCount: 0,
				commands: [],
				filesChanged: { source: "edit-steps", files: [], isCut: false },
			});
			expect(outcome.details.usage?.input).toBeGreaterThan(0);
			const [run] = shared().pi.runs();
			expect(run?.argv).toEqual(expect.arrayContaining(PI_FLAGS));
			expect(run?.argv).not.toContain("--agent");
		});

		it("is told of the files", () => {
			const file = join(shared().pi.cwd, "a.txt");
			expect(outcome.texts[0]).toBe(`These files belong to the task:\n\n${file}\n\nWhat is it?`);
		});

		it("is marked for whatever it starts", () => {
			const [run] = shared().pi.runs();
			const start = stage.sandbox.journal("start").find(({ pid }) => pid === run?.pid);
			expect(start?.env).toContain("PI_AGY_DEPTH");
		});
	});

	it.each([
		[{ model: "Gemini 3.8 flash high" }, "gemini-3.8-flash-high"],
		[{ thinking: "xhigh" }, "gemini-3.8-flash-high"],
		[{ model: "gemini-3.8-flash-low" }, "gemini-3.8-flash-low"],
	])("runs the model of %j", async (args, slug) => {
		expect((await shared().ask({ prompt: "x", ...args })).details.slug).toBe(slug);
		expect(flag(agyOf(shared()), "--model")).toBe(slug);
	});

	it.each([
		[{ AGY_DEFAULT_MODEL: "flash high" }, "gemini-3.8-flash-high"],
		[{ AGY_DEFAULT_THINKING: "low" }, "gemini-3.8-flash-low"],
	])("takes what it is not told from the settings: %j", async (env, slug) => {
		const asking = await Asking.open({ env });
		expect((await asking.ask({ prompt: "x" })).details.slug).toBe(slug);
	});

	it("works where it is told to", async () => {
		const { cwd } = shared().pi;
		mkdirSync(join(cwd, "below"));
		await shared().ask({ prompt: "x", cwd: "below" });
		const places = stage.sandbox.runs().map(({ argv }) => flag(argv, "--add-dir"));
		expect(places).toContain(join(cwd, "below"));
	});

	it("gets the transcript of the session, as a file that is gone afterwards", async () => {
		const asking = await Asking.open({ scenario: "slow-first" });
		const turn = asking.begin([{ prompt: "Go on.", includeContext: true }]);
		await stage.sandbox.reached("prompted");
		const [prompt] = asking.pi.prompts();
		expect(prompt).toMatch(/^The conversation that this task comes from is in the file .*\n\nGo on\.$/s);
		expect(stage.sandbox.filesOf(prompt)).toEqual([expect.stringContaining("## User\n\nask agy")]);
		stage.sandbox.openGate("go");
		expect(outcomes(await turn)).toMatchObject([{ isError: false }]);
		stage.sandbox.closeGate("go");
		stage.sandbox.forgetMarker("prompted");
		expect(readdirSync(join(stage.sandbox.agentDir, "pi-agy", "spill"))).toEqual([]);
	});

	it("shows how far it is", async () => {
		const asking = await Asking.open({
			scenario: {
				turns: [
					{
						steps: [
							{ kind: "tool", name: "view_file", parameters: { AbsolutePath: "/x/a.txt" } },
							{ kind: "text", text: "Half of it.\nThe next", deltas: ["Half of it.\nThe next"], finish: "none" },
							{ kind: "touch", marker: "half" },
							{ kind: "wait", gate: "rest" },
							{ kind: "text", text: "That is all." },
						],
					},
				],
			},
		});
		const turn = asking.begin([{ prompt: "x" }]);
		await until("the card shows step and line", () => asking.shown?.lastLine === "The next");
		expect(asking.shown).toMatchObject({
			state: "running",
			stepCount: 1,
			steps: [{ tool: "view_file", what: "/x/a.txt", state: "done" }],
		});
		stage.sandbox.openGate("rest");
		expect(outcomes(await turn)[0]?.texts[0]).toBe("Half of it.\nThe next\n\nThat is all.");
	});

	it("goes through agy -p where that is the engine", async () => {
		const asking = await Asking.open({ env: { AGY_ENGINE: "legacy-sqlite", AGY_SIM_DATABASE: "on" } });
		const outcome = await asking.ask({ prompt: "x" });
		expect(outcome).toMatchObject({ isError: false, texts: ["x", expect.stringMatching(/^conversationId: /)] });
	});
});

describe("an answer with a schema", () => {
	const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };

	it("is the value, and agy was given the schema", async () => {
		const asking = await Asking.open({ scenario: "structured" });
		const { texts, details } = await asking.ask({ prompt: "x", schema });
		expect(texts[0]).toBe('{"ok":true}');
		expect(details.json).toEqual({ ok: true });
		expect(flag(agyOf(asking), "--json-schema")).toMatch(/\/schema-\w+\.json$/);
	});

	it("is what agy says last", async () => {
		const steps = [
			{ kind: "text", text: "I look first." },
			{ kind: "tool", name: "view_file", parameters: { AbsolutePath: "/x" } },
			{ kind: "text", text: '{"ok":true}' },
		];
		const asking = await Asking.open({ scenario: { turns: [{ steps }] } });
		expect(await asking.ask({ prompt: "x", schema })).toMatchObject({
			texts: ['{"ok":true}', expect.anything()],
			details: { json: { ok: true } },
		});
	});

	it("is asked for in the prompt where agy has no flag for it", async () => {
		const bin = stage.sandbox.write(
			"bin/agy-without-schema",
			`#!/bin/sh\nif [ "$1" = --help ]; then '${stage.sandbox.env.AGY_BIN}' --help 2>&1 | grep -v json-schema; exit 0; fi\nexec '${stage.sandbox.env.AGY_BIN}' "$@"\n`,
			0o700,
		);
		const asking = await Asking.open({ scenario: says('```json\n{"ok": false}\n```'), env: { AGY_BIN: bin } });
		const { details } = await asking.ask({ prompt: "x", schema });
		expect(details.json).toEqual({ ok: false });
		expect(agyOf(asking)).not.toContain("--json-schema");
		expect(asking.pi.prompts()[0]).toContain(JSON.stringify(schema));
	});

	it.each([
		["no JSON", "Certainly!", /The answer above is no JSON/],
		["another form", '{"ok":"yes"}', /does not fit the schema: \/ok must be boolean/],
	])("is an error when it is %s", async (_name, text, message) => {
		const asking = await Asking.open({ scenario: says(text) });
		const outcome = await asking.ask({ prompt: "x", schema });
		expect(outcome).toMatchObject({ isError: true, details: { state: "failed", verdict: "complete" } });
		expect(outcome.texts).toEqual([text, expect.stringMatching(message)]);
		expect(conversationOf(outcome)).not.toBe("");
	});
});

describe("what a run has done", () => {
	const WORK = {
		turns: [
			{
				steps: [
					{ kind: "tool", name: "run_command", parameters: { CommandLine: "npm test" }, output: "ok" },
					{
						kind: "tool",
						name: "write_to_file",
						parameters: { TargetFile: "{{workspace}}/new.txt" },
						writes: { path: "new.txt", text: "new\n" },
					},
					{
						kind: "tool",
						name: "replace_file_content",
						parameters: { TargetFile: "{{workspace}}/dirty.txt" },
						writes: { path: "dirty.txt", text: "by agy\n" },
					},
					{ kind: "text", text: "Done." },
				],
			},
		],
	};

	it("is told from git within a work tree", async () => {
		const asking = await Asking.open({ scenario: WORK });
		const { cwd } = asking.pi;
		const git = (...args: readonly string[]) =>
			execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, stdio: "pipe" });
		for (const name of ["dirty.txt", "kept.txt"]) writeFileSync(join(cwd, name), "committed\n");
		git("init", "-q");
		git("add", ".");
		git("commit", "-qm", "first");
		for (const name of ["dirty.txt", "kept.txt"]) writeFileSync(join(cwd, name), "by the user\n");
		const { details, texts } = await asking.ask({ prompt: "x" });
		expect(details).toMatchObject({
			commands: ["npm test"],
			stepCount: 3,
			filesChanged: { source: "git", files: [join(cwd, "dirty.txt"), join(cwd, "new.txt")], isCut: false },
		});
		expect(texts[1]).toMatch(/^Files changed on disk meanwhile: dirty\.txt, new\.txt\nconversationId: /);
	});

	it("is told from agy's edits elsewhere, as far as the disk bears it out", async () => {
		const asking = await Asking.open({ scenario: WORK });
		const { details } = await asking.ask({ prompt: "x" });
		expect(details.filesChanged).toEqual({
			source: "edit-steps",
			files: [join(asking.pi.cwd, "dirty.txt"), join(asking.pi.cwd, "new.txt")],
			isCut: false,
		});
	});
});

describe("a run that leaves a command running", () => {
	const LEFT = {
		turns: [
			{
				steps: [
					{ kind: "tool", name: "run_command", parameters: { CommandLine: "sleep 900" }, end: "open" },
					{ kind: "think" },
					{ kind: "transcript", text: "The parked answer.\n" },
					{ kind: "hang" },
				],
			},
			{ steps: [{ kind: "text", text: "Gone on." }] },
		],
	};

	it("has its answer, and is stopped with the session", async () => {
		const asking = await Asking.open({ scenario: LEFT });
		const outcome = await asking.ask({ prompt: "x" });
		expect(outcome).toMatchObject({
			isError: false,
			texts: ["The parked answer.", expect.stringMatching(/still running in the background/)],
			details: { verdict: "still-running" },
		});
		expect(stage.sandbox.agyProcesses().length).toBeGreaterThan(0);
		await asking.pi.close();
		expect(stage.sandbox.agyProcesses()).toEqual([]);
	});

	it("can be gone on with, which stops it", async () => {
		const asking = await Asking.open({ scenario: LEFT });
		const first = await asking.ask({ prompt: "x" });
		const conversationId = conversationOf(first);
		const next = await asking.ask({ prompt: "y", conversationId });
		expect(next).toMatchObject({ isError: false, texts: ["Gone on.", `conversationId: ${conversationId}`] });
		expect(stage.sandbox.agyProcesses()).toEqual([]);
		expect(asking.pi.runs().length).toBe(2);
	});
});

describe("a run that fails", () => {
	it("at its time limit keeps what was said, and can be gone on with", async () => {
		const asking = await Asking.open({ scenario: "hang" });
		const outcome = await asking.ask({ prompt: "x", timeoutMinutes: 0.05 });
		expect(outcome).toMatchObject({
			isError: true,
			details: { state: "failed", verdict: "timed-out", timedOut: true },
		});
		expect(outcome.texts[0]).not.toBe("");
		// The card has been told of the time that passed, although agy said nothing more.
		expect(asking.shown?.durationMs).toBeGreaterThan(900);
		expect(outcome.details.durationMs).toBeLessThan(25_000); // Long after the limit of 3 s, for a busy machine.
		expect(outcome.texts[1]).toMatch(/longer than timeoutMinutes \(0\.05\) and was stopped\. .* conversationId/);
		const next = await asking.ask({ prompt: "y", timeoutMinutes: 0.05, conversationId: conversationOf(outcome) });
		expect(next.details.conversationId).toBe(conversationOf(outcome));
	});

	it("by being stopped leaves no process, and keeps what was said", async () => {
		const asking = await Asking.open({ scenario: "hang" });
		stage.sandbox.forgetMarker("hanging");
		const turn = asking.begin([{ prompt: "x" }]);
		await stage.sandbox.reached("hanging");
		await until("the card shows a line", () => asking.shown?.lastLine !== undefined && asking.shown.lastLine !== "");
		await asking.pi.session.abort();
		const [outcome] = outcomes(await turn);
		expect(stage.sandbox.agyProcesses()).toEqual([]);
		expect(outcome).toMatchObject({ isError: true, details: { aborted: true, verdict: "cancelled" } });
		expect(outcome?.texts[1]).toMatch(/^The delegated run was stopped\. The answer above is incomplete\.\n/);
		expect(outcome?.details.conversationId).toBe(conversationOf(outcome as Outcome));
	});

	it.each([
		["empty-success", "empty", /reported success without having done anything.*fresh one/],
		["denied", "denied", /was not allowed to use .*AGY_SKIP_PERMISSIONS/],
		["quota", "quota", /quota is used up; it resets in .*another quota/],
		["login-required", "auth", /not signed in\. Run `agy`/],
		["crash", "crashed", /exited with code 1 in the middle of the turn/],
	])("as %s says so and what to do", async (scenario, verdict, message) => {
		const asking = await Asking.open({ scenario, env: { AGY_SKIP_PERMISSIONS: "off" } });
		const outcome = await asking.ask({ prompt: "x" });
		expect(outcome).toMatchObject({ isError: true, details: { verdict, state: "failed" } });
		expect(outcome.texts.at(-1)).toMatch(message);
		expect(conversationOf(outcome) === "").toBe(verdict === "empty" || verdict === "auth");
	});
});

describe("a call is refused", () => {
	const shared = shareAsking();

	it("when agy's own model is active", async () => {
		const pi = await stage.open();
		const tool = pi.session.getToolDefinition(ASK_TOOL_NAME);
		const call = tool?.execute("1", { prompt: "x" }, undefined, undefined, {
			cwd: pi.cwd,
			model: pi.session.model,
		} as never);
		await expect(call).rejects.toThrow(/does not delegate to itself.*\/model/);
		expect(pi.runs()).toEqual([]);
	});

	it.each(["PI_AGY_DEPTH", "ANTIGRAVITY_AGENT"])("within an agy, which %s tells", async (variable) => {
		const asking = await Asking.open({ env: { [variable]: "1" } });
		const outcome = await asking.ask({ prompt: "x" });
		expect(outcome).toMatchObject({ isError: true, texts: [expect.stringMatching(/started from within agy/)] });
		expect(asking.pi.runs()).toEqual([]);
	});

	it.each([
		[{ cwd: "nowhere" }, /nowhere, which is no directory/],
		[{ files: ["gone.txt"] }, /gone\.txt is not there/],
		[{ model: "llama" }, /no model "llama"\. Allowed: gemini-3\.8-flash,/],
		[{ model: "--help" }, /no model "--help"/],
		[{ model: "flash-low", thinking: "high" }, /contradict each other/],
		[{ conversationId: "--agent" }, /"--agent" is no id of agy/],
		[{ conversationId: "c0ffee00-0000-4000-8000-ffffffffffff" }, /does not have the conversation .* Nothing was sent/],
		[{ schema: { type: "array" } }, /must have "type": "object" at its root/],
		[{ prompt: " " }, /prompt is empty/],
	])("with %j", async (args, message) => {
		const outcome = await shared().ask({ prompt: "x", ...args });
		expect(outcome).toMatchObject({ isError: true, texts: [expect.stringMatching(message)] });
		expect(shared().pi.prompts()).toEqual([]);
	});

	it("in a mode that the user's settings do not allow", async () => {
		const asking = await Asking.open({ env: { AGY_MODE: "plan" } });
		const outcome = await asking.ask({ prompt: "x", mode: "default" });
		expect(outcome.texts).toEqual([expect.stringMatching(/"default" is not allowed.*AGY_MODE=plan.*Allowed: plan\./)]);
	});

	it("with a setting that may have been meant to limit agy and is not understood", async () => {
		const asking = await Asking.open({ env: { AGY_SKIP_PERMISSIONS: "of" } });
		const outcome = await asking.ask({ prompt: "x" });
		expect(outcome).toMatchObject({ isError: true, texts: [expect.stringMatching(/^AGY_SKIP_PERMISSIONS is "of"/)] });
		expect(asking.pi.runs()).toEqual([]);
	});

	it("when the tool is switched off, for it is not there", async () => {
		const pi = await stage.open({ env: { AGY_ASK_TOOL: "off" } });
		expect(pi.session.getToolDefinition(ASK_TOOL_NAME)).toBeUndefined();
	});
});

/** In this order: what agy answers tells how often the conversation was gone on with. */
describe("a conversation", () => {
	const shared = shareAsking({ scenario: "turns" });
	let conversationId = "";
	beforeAll(async () => {
		conversationId = conversationOf(await shared().ask({ prompt: "one" }));
	});

	it("is not gone on with while another pi is on it", async () => {
		const locks = new ConversationLocks(join(stage.sandbox.agentDir, "pi-agy", "locks"));
		await locks.acquire(conversationId);
		const outcome = await shared().ask({ prompt: "two", conversationId });
		await locks.release(conversationId);
		expect(outcome).toMatchObject({ isError: true, texts: [expect.stringMatching(/^Another pi process is working/)] });
	});

	it("is gone on with, also after another pi was on it", async () => {
		const second = await shared().ask({ prompt: "two", conversationId });
		expect(second).toMatchObject({ isError: false, texts: ["Second.", `conversationId: ${conversationId}`] });
		expect(flag(agyOf(shared()), "--conversation")).toBe(conversationId);
	});

	it("is not gone on with while another run is on it", async () => {
		const both = await shared().askAll([
			{ prompt: "three", conversationId },
			{ prompt: "four", conversationId },
		]);
		expect(both.filter(({ isError }) => isError)).toMatchObject([{ texts: [expect.stringMatching(/Wait for it/)] }]);
		expect(both.find(({ isError }) => !isError)?.texts[0]).toBe("Later.");
	});
});

describe("several runs", () => {
	const GATED = {
		turns: [
			{
				steps: [
					{ kind: "touch", marker: "{{prompt}}" },
					{ kind: "wait", gate: "all" },
					{ kind: "text", text: "{{prompt}}" },
				],
			},
		],
	};
	const PROMPTS = ["a1", "a2", "a3", "a4", "a5", "a6"];

	it("go four at a time; the others wait, and all are answered", async () => {
		const asking = await Asking.open({ scenario: GATED });
		const turn = asking.begin(PROMPTS.map((prompt) => ({ prompt })));
		await until("four run and two wait", () => {
			const running = stage.sandbox.agyProcesses().length > 0 && asking.pi.prompts().length === 4;
			const waiting = asking.pi.records.filter(
				(record) => record.type === "tool_execution_update" && record.partialResult.details.state === "waiting",
			);
			return running && new Set(waiting.map((record) => (record as { toolCallId: string }).toolCallId)).size === 2;
		});
		expect(asking.pi.runs().length).toBe(4);
		stage.sandbox.openGate("all");
		const all = outcomes(await turn);
		expect(all.map(({ texts }) => texts[0]).toSorted()).toEqual(PROMPTS);
		expect(all.every(({ isError }) => !isError)).toBe(true);
		stage.sandbox.closeGate("all");
	});

	it("are all stopped by an abort, also the ones that wait", async () => {
		const asking = await Asking.open({ scenario: GATED });
		const turn = asking.begin(PROMPTS.map((prompt) => ({ prompt })));
		await until("four run", () => asking.pi.prompts().length === 4);
		await asking.pi.session.abort();
		const all = outcomes(await turn);
		expect(all.filter(({ texts }) => /stopped before anything was sent/.test(texts[0] ?? "")).length).toBe(2);
		expect(all.length).toBe(6);
		expect(asking.pi.runs().length).toBe(4);
		expect(stage.sandbox.agyProcesses()).toEqual([]);
	});

	it("are stopped with their session", async () => {
		const asking = await Asking.open({ scenario: "hang" });
		stage.sandbox.forgetMarker("hanging");
		const turn = asking.begin([{ prompt: "x" }]).catch(() => []);
		await stage.sandbox.reached("hanging");
		await asking.pi.close();
		expect(stage.sandbox.agyProcesses()).toEqual([]);
		await turn;
	});
});

describe("settings that forbid it", () => {
	it.each([
		["read-only", { isReadOnly: true, provenance: { readonly: "AGY_READONLY" } }, "readonly is on (AGY_READONLY)"],
		[
			"switched off by a project",
			{ askTool: false, provenance: { askTool: "x: askTool" } },
			"switched off (x: askTool)",
		],
	])("hold at once: %s", async (_name, later, message) => {
		const live = { ...loadConfig(), askTool: true };
		const register: ExtensionFactory = (pi) => {
			const tool = new AskTool({
				...{ config: live, engine: streamJsonEngine, providerId: "antigravity" },
				hub: () => {
					throw new Error("nothing is started");
				},
				catalog: () => new Catalog([{ slug: "gemini-3.8-flash-low", name: "Flash" }], true),
			});
			new AskToolSwitch(pi, live, async () => tool);
		};
		const asking = await Asking.open({ env: { AGY_ASK_TOOL: "off" }, extensions: [register] });
		Object.assign(live, later);
		const { isError, texts } = await asking.ask({ prompt: "x" });
		expect([isError, texts]).toEqual([true, [expect.stringContaining(message)]]);
		expect(asking.pi.runs()).toEqual([]);
	});
});

describe("the bridge", () => {
	it("is held from before the start until the process has ended, also after a failure", async () => {
		const log: string[] = [];
		let share: HubShare | undefined;
		const register: ExtensionFactory = (pi) => {
			const config = { ...loadConfig(), askTool: true };
			share = new HubShare(config);
			const tool = new AskTool({
				config,
				engine: streamJsonEngine,
				providerId: "antigravity",
				hub: () => (share as HubShare).get(),
				catalog: () => new Catalog([{ slug: "gemini-3.8-flash-low", name: "Flash" }], true),
				holdBridges: async () => {
					log.push(`held, ${stage.sandbox.agyProcesses().length} running`);
					return async () => void log.push(`released, ${stage.sandbox.agyProcesses().length} running`);
				},
			});
			new AskToolSwitch(pi, config, async () => tool);
		};
		const asking = await Asking.open({ env: { AGY_ASK_TOOL: "off" }, extensions: [register], scenario: "crash" });
		try {
			expect(await asking.ask({ prompt: "x" })).toMatchObject({ isError: true });
			expect(log).toEqual(["held, 0 running", "released, 0 running"]);
			await asking.ask({ prompt: "x", model: "llama" });
			expect(log.length).toBe(2);
		} finally {
			await share?.release();
		}
	});

	it("that cannot be held lets nothing start", async () => {
		let share: HubShare | undefined;
		const register: ExtensionFactory = (pi) => {
			const config = { ...loadConfig(), askTool: true };
			share = new HubShare(config);
			const tool = new AskTool({
				config,
				engine: streamJsonEngine,
				providerId: "antigravity",
				hub: () => (share as HubShare).get(),
				catalog: () => new Catalog([{ slug: "gemini-3.8-flash-low", name: "Flash" }], true),
				holdBridges: () => Promise.reject(new Error("the file is locked")),
			});
			new AskToolSwitch(pi, config, async () => tool);
		};
		const asking = await Asking.open({ env: { AGY_ASK_TOOL: "off" }, extensions: [register] });
		try {
			const outcome = await asking.ask({ prompt: "x" });
			expect(outcome).toMatchObject({ isError: true, texts: [expect.stringContaining("the file is locked")] });
			expect(asking.pi.runs()).toEqual([]);
			expect(readFileSync(join(stage.sandbox.simHome, "journal.ndjson"), "utf8")).not.toContain(`${asking.pi.cwd}"`);
		} finally {
			await share?.release();
		}
	});
});

describe("the bridges of pi sessions", () => {
	const tool = (pi: ExtensionAPI) =>
		pi.registerTool({
			name: "shout",
			label: "shout",
			description: "Shouts",
			parameters: Type.Object({}),
			execute: async () => ({ content: [{ type: "text", text: "!" }], details: {} }),
		});
	const states = () => {
		const text = stage.sandbox.read("sim/config/mcp_config.json");
		const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, { disabled?: boolean }> };
		return Object.values(mcpServers).map(({ disabled }) => disabled === true);
	};

	it("are out of sight of a delegated run for as long as it runs, and there again afterwards", async () => {
		const session = await stage.open({ scenario: says("Hi."), extensions: [tool] });
		expect(await session.ask("hi")).toBe("Hi.");
		expect(states()).toEqual([false]);
		const asking = await Asking.open({
			scenario: {
				turns: [
					{
						steps: [
							{ kind: "touch", marker: "delegated" },
							{ kind: "wait", gate: "go" },
						],
					},
				],
			},
		});
		const turn = asking.begin([{ prompt: "go" }]);
		await stage.sandbox.reached("delegated");
		expect(states()).toEqual([true]);
		const connected = stage.sandbox.journal("mcp").filter(({ event }) => event === "connected");
		stage.sandbox.openGate("go");
		await turn;
		await until("they are on again", () => states().every((isDisabled) => !isDisabled));
		// Only the session's own agy has seen the server.
		expect(connected.map(({ pid }) => pid)).toEqual([session.runs()[0]?.pid]);
	});
});
