import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BridgeCalls, MCP_CALL } from "../../../src/main/bridge/bridge-calls.ts";
import { tool } from "../../support/agy-events.ts";

let gathered: string[][];
let isParked: boolean;
let calls: BridgeCalls;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	gathered = [];
	isParked = false;
	calls = new BridgeCalls(() => {
		if (!isParked) gathered.push(calls.takeWaiting().map(({ id }) => id));
	});
});
afterEach(() => {
	calls.stop();
	expect(vi.getTimerCount()).toBe(0);
	vi.useRealTimers();
});

const add = (id: string) => calls.add({ id, tool: "search", args: {} });
const announce = (step: number, state: "active" | "done" = "active", name = MCP_CALL) =>
	calls.announce(tool(step, state, { name }));
/** Longer than a further call of the same step takes. */
const pass = () => vi.advanceTimersByTime(100);

describe("calls are put into a message", () => {
	test("at once when there are as many as agy has announced, in whatever order", () => {
		announce(3);
		announce(5);
		add("a");
		expect(gathered).toEqual([]);
		add("b");
		expect(gathered).toEqual([["a", "b"]]);
		add("c");
		announce(7);
		expect(gathered).toEqual([["a", "b"], ["c"]]);
	});

	test("together when none is announced, once no further one comes", () => {
		add("a");
		vi.advanceTimersByTime(30);
		add("b");
		vi.advanceTimersByTime(30);
		expect(gathered).toEqual([]);
		pass();
		expect(gathered).toEqual([["a", "b"]]);
	});

	test("without those that agy has announced and not made, or has given up", () => {
		announce(3);
		announce(5);
		add("a");
		announce(5, "done");
		expect(gathered).toEqual([["a"]]);
		announce(7);
		announce(9);
		add("b");
		pass();
		expect(gathered).toEqual([["a"], ["b"]]);
	});

	test("whatever else agy does meanwhile", () => {
		announce(3, "active", "view_file");
		calls.announce(tool(4, "active", { name: MCP_CALL, args: { ToolName: "bridge_poll_result" } }));
		announce(5);
		add("a");
		expect(gathered).toEqual([["a"]]);
	});

	test("when pi is there again, if they came while it ran others", () => {
		isParked = true;
		announce(3);
		add("a");
		pass();
		isParked = false;
		calls.check();
		expect(gathered).toEqual([["a"]]);
	});
});

test("a call is known from when it is in a message until pi has run it", () => {
	announce(3);
	expect(calls.owns("a")).toBe(false);
	add("a");
	expect(calls.owns("a")).toBe(true);
	calls.release();
	expect(calls.owns("a")).toBe(false);
});

test("nothing is put anywhere after the end, and who waits is told", () => {
	const drop = vi.fn();
	calls.add({ id: "a", tool: "search", args: {}, drop });
	calls.stop();
	expect(drop).toHaveBeenCalledOnce();
	pass();
	calls.check();
	expect(gathered).toEqual([]);
});
