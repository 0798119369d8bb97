/**
 * Bytes on stdout: envelopes, lines cut anywhere, noise, enormous lines, floods and back-pressure. Where only the bytes of
 * a turn matter, scenarios share a process.
 */
import { Writable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Stdout } from "../agy-sim/wire/stdout.ts";
import { until } from "../support/condition.ts";
import { Medley } from "./medley.ts";
import { SimulatedAgy } from "./simulated-agy.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

const PROMPT = "naïve ☕ 👩‍👩‍👧";

let agy: SimulatedAgy;
beforeEach(() => {
	agy = new SimulatedAgy();
});
afterEach(() => agy.close());

async function finished(scenario: string | object, env: Record<string, string> = {}) {
	const run = agy.start({ scenario, env });
	run.send(PROMPT);
	await run.finish();
	return run;
}

describe("envelopes", () => {
	it("have the captured keys in the captured order", async () => {
		const run = await finished("tools");
		expect(run.stdout.endsWith("\n")).toBe(true);
		expect(run.stdout).not.toMatch(/"type":"(init|step_update|result)"|timestamp/);
		for (const event of run.events) {
			const keys = Object.keys(event);
			expect(keys).toEqual(event.event === "init" ? ["event", "conversation_id", "init"] : ["event", event.event]);
		}
		const done = run.steps.find((step) => step.tool_name === "run_command" && step.state === "DONE");
		expect(Object.keys(done ?? {})).toEqual([
			"conversation_id",
			"step_index",
			"state",
			"step_type",
			"tool_name",
			"duration_seconds",
			"tool_info",
		]);
		expect(Object.keys(done?.tool_info ?? {})).toEqual(["name", "parameters", "output"]);
		expect(Object.keys(run.results[0] ?? {})).toEqual([
			"conversation_id",
			"status",
			"response",
			"duration_seconds",
			"num_turns",
			"usage",
		]);
	});
});

describe("AGY_SIM_CHUNK_BYTES", () => {
	let uncut: SimulatedAgy;
	let whole: SimulatedProcess;
	beforeAll(() => {
		uncut = new SimulatedAgy();
		whole = uncut.start();
		whole.send(PROMPT);
		return whole.finish();
	});
	afterAll(() => uncut.close());

	it.each([1, 2, 3, 7, 64])("cut into %i bytes a write, the stream is the same", async (bytes) => {
		const env = { AGY_SIM_HOME: `${uncut.home}/${bytes}`, AGY_SIM_CHUNK_BYTES: String(bytes) };
		const cut = uncut.start({ env });
		cut.send(PROMPT);
		await cut.finish();
		expect(cut.stdout).toBe(whole.stdout);
		expect(cut.results[0]?.response).toBe(PROMPT);
	});

	// A pipe may join what was written apart, so the pieces are counted where they are made.
	it("cuts within characters", async () => {
		const pieces: Buffer[] = [];
		const stream = new Writable({
			write(piece: Buffer, _encoding, done) {
				pieces.push(Buffer.from(piece));
				done();
			},
		});
		await new Stdout(stream, 1, () => {}).write("☕\n");
		expect(pieces.map((piece) => piece.length)).toEqual([1, 1, 1, 1]);
		expect(Buffer.concat(pieces).toString("utf8")).toBe("☕\n");
	});
});

describe("noise", () => {
	const SHARED = ["noise", "flat-envelope", "glued-noise", "crlf", "raw-newline", "line-separators", "invalid-utf8"];
	let shared: SimulatedAgy;
	let medley: Medley;
	beforeAll(async () => {
		shared = new SimulatedAgy();
		medley = await Medley.start(shared, SHARED);
	});
	afterAll(() => shared.close());

	it.each([
		["noise", ["Opening in existing browser session.", "", "42", "[1,2]"]],
		["flat-envelope", ['{"event":"step_update","step_index":90,"state":"DONE","step_type":"system_message"}']],
	])("%s stands between good lines", async (scenario, lines) => {
		const played = await medley.play(scenario);
		expect(played.lines).toEqual(expect.arrayContaining(lines));
		expect(played.result).toMatchObject({ status: "SUCCESS", response: "Done.\n" });
	});

	it("glued-noise: on one line with a frame", async () => {
		expect((await medley.play("glued-noise")).bytes.toString()).toContain(
			'Opening in existing browser session.{"event":',
		);
	});

	it("crlf, raw-newline, line separators and bytes that are no UTF-8", async () => {
		expect((await medley.play("crlf")).bytes.toString()).toContain('"system_message"}}\r\n');
		expect((await medley.play("raw-newline")).bytes.toString()).toContain('"cut\nhere"}}\n');
		expect((await medley.play("line-separators")).bytes.toString()).toContain("one\u2028");
		const bytes = (await medley.play("invalid-utf8")).bytes;
		expect(bytes.includes(Buffer.from([0xc3, 0x28, 0xff]))).toBe(true);
	});

	it("html-escaped: as Go's encoder writes it", async () => {
		const run = await finished("html-escaped");
		expect(run.stdout).toContain("\\u003cb\\u003e");
		expect(run.results[0]?.response).toBe("<b>bold & sure</b>\n");
	});

	it.each([
		["long-line", 2 * 1024 * 1024],
		["giant-line", 32 * 1024 * 1024],
	])("%s: more than %i bytes", async (scenario, bytes) => {
		const run = await finished(scenario);
		expect(Math.max(...run.lines.map((line) => line.length))).toBeGreaterThan(bytes);
		expect(run.results[0]?.status).toBe("SUCCESS");
	});

	it("stderr notices do not matter to the result", async () => {
		expect((await finished("login-notice")).stderr).toBe("You are not logged into Antigravity.\n");
		const flooded = await finished("stderr-flood");
		expect(flooded.stderr.length).toBeGreaterThan(65_000);
		expect(flooded.results[0]?.status).toBe("SUCCESS");
	});
});

describe("speed", () => {
	it("steady: so many numbered deltas of one size", async () => {
		const run = agy.start({ scenario: "steady:deltas=3000,bytes=32,rate=0" });
		await run.ask("go");
		const deltas = run.steps.filter((step) => step.state === "ACTIVE").map((step) => step.text_delta ?? "");
		expect(deltas).toHaveLength(3000);
		expect(deltas.every((delta, number) => delta.length === 32 && delta.startsWith(`${number} `))).toBe(true);
	});

	it("keeps the given rate", async () => {
		const startMs = performance.now();
		const run = agy.start({ scenario: "steady:deltas=50,bytes=8,rate=100" });
		await run.ask("go");
		expect(performance.now() - startMs).toBeGreaterThan(490);
	});

	it("AGY_SIM_TOKENS_PER_SECOND slows text down, 0 lets the demo run free", async () => {
		const text = "x".repeat(80); // 20 tokens
		const startMs = performance.now();
		const paced = agy.start({ env: { AGY_SIM_TOKENS_PER_SECOND: "40" } });
		await paced.ask(text);
		expect(performance.now() - startMs).toBeGreaterThan(400);
		expect(paced.text).toBe(text);

		const free = agy.start({ scenario: "demo", env: { AGY_SIM_TOKENS_PER_SECOND: "0" } });
		expect((await free.ask("say hello")).response).toContain("Hello");
	});

	it("waits for a slow reader instead of buffering without end", async () => {
		const run = agy.start({ scenario: "steady:deltas=200000,bytes=64,rate=0" });
		await until("init", () => run.events.length > 0);
		run.child.stdout.pause();
		run.send("go");
		await until("the prompt read", () => agy.journal("stdin").length === 1);
		run.child.kill("SIGINT");
		await until("the signal seen", () => agy.journal("signal").length === 1);
		expect(run.child.exitCode).toBeNull();
		run.child.stdout.resume();
		expect((await run.closed).code).toBe(1);
		expect(run.results[0]?.error).toBe("interrupted");
	});

	it("ends when its reader goes away", async () => {
		const run = agy.start({ scenario: "steady:deltas=200000,bytes=64,rate=0" });
		run.send("go");
		await until("some output", () => run.chunks.length > 1);
		run.child.stdout.destroy();
		expect((await run.exited).code).toBe(141);
	});
});
