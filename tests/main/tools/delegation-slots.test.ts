import { describe, expect, test } from "vitest";
import { DelegationSlots } from "../../../src/main/tools/delegation-slots.ts";

const NEVER = new AbortController().signal;

/** Takes slots under names and notes who has one. */
function taker(slots: DelegationSlots) {
	const got: string[] = [];
	const waited: string[] = [];
	const take = (name: string, signal = NEVER) =>
		slots
			.take(signal, () => waited.push(name))
			.then((giveBack) => {
				got.push(name);
				return giveBack;
			});
	return { got, waited, take };
}

describe("slots", () => {
	test("are handed on in the order in which they are waited for", async () => {
		const { got, waited, take } = taker(new DelegationSlots(1));
		const first = await take("a");
		const second = take("b");
		const third = take("c");
		expect(waited).toEqual(["b", "c"]);
		first();
		first();
		const late = take("d");
		await second;
		expect(got).toEqual(["a", "b"]);
		(await second)();
		(await third)();
		(await late)();
		expect(got).toEqual(["a", "b", "c", "d"]);
	});

	test("are not lost by whoever stops waiting", async () => {
		const { got, take } = taker(new DelegationSlots(1));
		const first = await take("a");
		const stop = new AbortController();
		const second = take("b", stop.signal);
		const third = take("c");
		stop.abort(new Error("stopped"));
		await expect(second).rejects.toThrow("stopped");
		first();
		(await third)();
		await take("d");
		expect(got).toEqual(["a", "c", "d"]);
	});

	test("are not given to whoever has stopped before", async () => {
		const slots = new DelegationSlots(1);
		await expect(slots.take(AbortSignal.abort(new Error("stopped")), () => {})).rejects.toThrow("stopped");
		await slots.take(NEVER, () => expect.unreachable("one is free"));
	});

	test("given to one who stops in the same moment can be given back", async () => {
		const { take } = taker(new DelegationSlots(1));
		const first = await take("a");
		const stop = new AbortController();
		const second = take("b", stop.signal);
		first();
		stop.abort();
		(await second)();
		await take("c");
	});
});

describe("a conversation", () => {
	test("takes one run at a time", () => {
		const slots = new DelegationSlots();
		const release = slots.claim("x");
		expect(() => slots.claim("x")).toThrow(/working in the conversation x\. Wait/);
		slots.claim("y");
		release();
		slots.claim("x");
	});
});
