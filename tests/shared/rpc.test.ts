import { once } from "node:events";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AgyError } from "../../src/shared/errors.ts";
import { connect, serve } from "../../src/shared/rpc.ts";
import { within } from "../support/condition.ts";
import type { ControlMethods } from "../support/control-worker.ts";

const LONG_MS = 10_000;
const SHORT_MS = 30;
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown) => unhandled.push(reason);

beforeEach(() => {
	unhandled.length = 0;
	process.on("unhandledRejection", noteUnhandled);
});

afterEach(async () => {
	await new Promise(setImmediate);
	process.off("unhandledRejection", noteUnhandled);
	expect(unhandled).toStrictEqual([]);
});

describe("over a channel", () => {
	let ports: MessagePort[] = [];
	const never = new Promise<Error>(() => {});

	afterEach(() => {
		for (const port of ports) port.close();
		ports = [];
	});

	function open(options: { timeoutMs: number; ended?: Promise<Error> }, methods: Parameters<typeof serve>[1]) {
		const { port1, port2 } = new MessageChannel();
		ports = [port1, port2];
		serve(port2, methods);
		return connect<ControlMethods>(port1, { ended: never, ...options });
	}

	test("answers, also to calls that overlap", async () => {
		const control = open({ timeoutMs: LONG_MS }, { add: (a: number, b: number) => a + b });
		expect(await Promise.all([control.add(1, 2), control.add(3, 4), control.add(5, 6)])).toStrictEqual([3, 7, 11]);
	});

	test("packs every message, so that no port sees an object", async () => {
		const { port1, port2 } = new MessageChannel();
		ports = [port1, port2];
		const seen: unknown[] = [];
		port2.on("message", (message) => seen.push(message));
		const control = connect<ControlMethods>(port1, { timeoutMs: SHORT_MS, ended: never });
		await expect(control.add(1, 2)).rejects.toThrow();
		expect(seen).toHaveLength(1);
		expect(seen[0]).toBeInstanceOf(Uint8Array);
	});

	test("can be returned from an async function", async () => {
		const control = await (async () => open({ timeoutMs: LONG_MS }, { echo: (value: unknown) => value }))();
		expect(await control.echo("é")).toBe("é");
	});

	test("a call to a method that is not served rejects", async () => {
		const control = open({ timeoutMs: LONG_MS }, {});
		await expect(control.hang()).rejects.toMatchObject({ name: "TypeError" });
	});

	test("a call without an answer rejects at its deadline and says which", async () => {
		const control = open({ timeoutMs: SHORT_MS }, { hang: () => new Promise(() => {}) });
		await expect(control.hang()).rejects.toMatchObject({
			code: "control-timeout",
			message: `The lane did not answer "hang" within ${SHORT_MS} ms.`,
		});
	});

	test("an answer after the deadline is ignored and the next call works", async () => {
		let answer: (text: string) => void = () => {};
		const control = open(
			{ timeoutMs: SHORT_MS },
			{
				later: () =>
					new Promise((resolve) => {
						answer = resolve;
					}),
				echo: (value: unknown) => value,
			},
		);
		await expect(control.later("x")).rejects.toMatchObject({ code: "control-timeout" });
		answer("too late");
		expect(await control.echo("next")).toBe("next");
	});

	test("a failure after the deadline is nobody's", async () => {
		let fail: (error: Error) => void = () => {};
		const control = open(
			{ timeoutMs: SHORT_MS },
			{
				hang: () =>
					new Promise((_resolve, reject) => {
						fail = reject;
					}),
				echo: (value: unknown) => value,
			},
		);
		await expect(control.hang()).rejects.toMatchObject({ code: "control-timeout" });
		fail(new Error("late"));
		// A busy machine may miss the short deadline again; an answer in the end shows that the peer lives on.
		await vi.waitFor(async () => expect(await control.echo(1)).toBe(1), { timeout: LONG_MS });
	});

	test("the end of the lane rejects what is open and what is called afterwards", async () => {
		let end: (error: Error) => void = () => {};
		const ended = new Promise<Error>((resolve) => {
			end = resolve;
		});
		const control = open({ timeoutMs: LONG_MS, ended }, { hang: () => new Promise(() => {}) });
		const open1 = control.hang();
		const open2 = control.hang();
		const reason = new AgyError("worker-crashed", "It crashed.");
		end(reason);
		await expect(open1).rejects.toBe(reason);
		await expect(open2).rejects.toBe(reason);
		await expect(control.hang()).rejects.toBe(reason);
	});
});

describe("over a thread", () => {
	let worker: Worker;
	let port: MessagePort;
	let ended: Promise<Error>;

	beforeEach(() => {
		const { port1, port2 } = new MessageChannel();
		worker = new Worker(new URL("../support/control-worker.ts", import.meta.url), {
			workerData: port2,
			transferList: [port2],
			execArgv: ["--disable-warning=ExperimentalWarning"],
		});
		port = port1;
		ended = once(worker, "exit").then(([code]) => new AgyError("worker-crashed", `exit ${code}`));
	});

	afterEach(async () => {
		await worker.terminate();
		port.close();
	});

	const control = (timeoutMs = LONG_MS) => connect<ControlMethods>(port, { timeoutMs, ended });

	test("answers at once and later", async () => {
		expect(await control().add(19, 23)).toBe(42);
		expect(await control().later("soon")).toBe("soon");
	});

	test("keeps values of every kind", async () => {
		const value = { text: "漢😀", list: [1, -1.5, null, true], nested: { "": {} }, bytes: Uint8Array.of(1, 2) };
		expect(await control().echo(value)).toMatchObject({ ...value, bytes: expect.anything() });
	});

	test.each(["fail", "failLater"] as const)("%s brings the message of the error over", async (method) => {
		const failure = control()[method]("what went wrong");
		await expect(failure).rejects.toBeInstanceOf(Error);
		await expect(failure).rejects.toThrow("what went wrong");
	});

	test("a thread that exits rejects the call it was answering", async () => {
		await expect(within("the rejection", control().exit())).rejects.toMatchObject({
			code: "worker-crashed",
			message: "exit 7",
		});
	});

	test("a thread that is terminated rejects what is open", async () => {
		const call = control().hang();
		const outcome = expect(within("the rejection", call)).rejects.toMatchObject({ code: "worker-crashed" });
		await control().echo("up");
		await worker.terminate();
		await outcome;
	});

	test("a thread that is busy for ever runs into the deadline", async () => {
		await control().echo("up");
		await expect(control(SHORT_MS).block()).rejects.toMatchObject({ code: "control-timeout" });
	});
});
