/** Hazards in a conversation database: texts that do more than grow, bytes few writers would make, and rows a script writes. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeMessage, messageDescription } from "../agy-sim/database/field-description.ts";
import { bytesAt, ConversationFile, fieldNumbers, numberAt, textAt, valuesAt } from "./conversation-file.ts";
import { SimulatedAgy } from "./simulated-agy.ts";

let agy: SimulatedAgy;
let file: ConversationFile;
beforeEach(() => {
	agy = new SimulatedAgy();
	file = new ConversationFile(agy);
});
afterEach(async () => {
	file.close();
	await agy.close();
});

const start = (scenario: string | object) => agy.start({ scenario, args: ["-p", "hi"] });
const payloadOf = (idx: number) => file.steps[idx]?.step_payload as Uint8Array;

describe("field descriptions", () => {
	it.each([
		["text", { 1: "ab" }, "0a026162"],
		["a number and a flag", { 1: 3, 2: true }, "08031001"],
		["a negative number: ten bytes", { 6: -9 }, "30f7ffffffffffffffff01"],
		["a field above 15: two bytes of tag", { 148: 1 }, "a00901"],
		["a message and a repeated field", { 2: { 1: "a" }, 3: ["b", "c"] }, "12030a0161" + "1a01621a0163"],
		[
			"an order of its own",
			{
				$fields: [
					["4", 1],
					["1", 2],
					["4", 3],
				],
			},
			"200108022003",
		],
		["bytes", { 1: { $hex: "00 ff" } }, "0a0200ff"],
		["a longer varint than needed", { 1: { $varint: "1", bytes: 3 } }, "08818000"],
		["a varint of 64 bits", { 1: { $varint: "18446744073709551615" } }, "08ffffffffffffffffff01"],
		["a packed list", { 2: { $packed: [1, 300] } }, "120301ac02"],
		["fixed and floating", { 1: { $fixed32: 1 }, 2: { $fixed64: 1 }, 3: { $float: 1 }, 4: { $double: 1 } }, undefined],
		["a group", { 1: { $group: { 2: 1 } } }, "0b10010c"],
		["a message cut short", { $cut: 1, of: { 1: "ab" } }, "0a0261"],
		["a message with bytes behind it", { $append: "ff", of: { 1: 1 } }, "0801ff"],
		["text over and over", { 1: { $repeat: "ab", times: 2 } }, "0a0461626162"],
	])("write %s", (_what, description, hex) => {
		const bytes = encodeMessage(messageDescription(description, "payload"));
		if (hex === undefined)
			expect(bytes.toString("hex")).toBe("0d01000000" + "110100000000000000" + "1d0000803f" + "21000000000000f03f");
		else expect(bytes.toString("hex")).toBe(hex);
	});

	it.each([
		["no field number", { text: 1 }, 'payload: "text" is no field number'],
		["a fraction", { 1: 1.5 }, "payload: 1.5 is no whole number; use $float or $double"],
		["null", { 1: null }, "payload: field 1 cannot hold null"],
		["an unknown form", { 1: { $what: 1 } }, 'payload: "$what" is not known here'],
		["no object", 5, "payload must be an object of fields, not 5"],
	])("refuse %s", (_what, description, message) => {
		expect(() => messageDescription(description, "payload")).toThrow(message);
	});

	it("with a mistake end the simulator before it begins", async () => {
		const run = start({
			turns: [{ steps: [{ kind: "row", idx: 0, type: 15, status: 3, payload: { 20: { one: 1 } } }] }],
		});
		expect((await run.closed).code).toBe(70);
		expect(run.stderr).toContain('turns[0].steps[0].payload: "one" is no field number');
	});
});

describe("texts", () => {
	it.each([
		["db-rewritten", "I will look at the file first.", "I have looked at the file first."],
		["db-replaced", "I will look at the file first", "The answer is 42. Nothing else."],
		["db-shrunk", "I will look at the file first", "It is 42."],
		["db-healed", "ab\uFFFD", "ab修改"],
		["db-scripts", "👨\u200D👩\u200D👧 修", "👨\u200D👩\u200D👧 修改 שלום"],
		["db-control", "a\u0000b", "a\u0000b\r\n\u001b[31mred\u001b[0m"],
		["db-empty", undefined, undefined],
	])("%s: %j becomes %j", async (scenario, held, final) => {
		const run = start(scenario);
		await agy.reached("held");
		expect([file.outline[3], file.text(3, "20.1")]).toEqual(["3/15/8", held]);
		agy.openGate("go");
		await run.closed;
		expect([file.outline[3], file.text(3, "20.1"), file.text(3, "20.8")]).toEqual(["3/15/3", final, final]);
	});

	it.each([
		["db-modified-only", undefined, "Forty-two."],
		["db-modified-differs", "Forty-two", "42"],
	])("%s: the two copies are %j and %j", async (scenario, text, modified) => {
		const run = start(scenario);
		await agy.reached("held");
		agy.openGate("go");
		await run.closed;
		expect([file.text(3, "20.1"), file.text(3, "20.8")]).toEqual([text, modified]);
	});

	it("of a megabyte are whole", async () => {
		await start("db-huge").closed;
		expect(file.text(3, "20.1")).toHaveLength(2 ** 20);
	});

	it("may be the system's in the shape of an answer", async () => {
		const run = start("db-envelope");
		await agy.reached("held");
		agy.openGate("go");
		await run.closed;
		expect(file.text(3, "20.1")).toMatch(/^<SYSTEM_MESSAGE>/);
	});
});

describe("bytes", () => {
	it("unknown fields of every wire type stand around known ones", async () => {
		await start("db-unknown-fields").closed;
		const content = bytesAt(payloadOf(1), "20") ?? new Uint8Array();
		expect(fieldNumbers(content)).toEqual([1, 900, 901, 902, 903, 1]); // the last is inside the group
		expect(Buffer.from(content).includes(encodeMessage({ 904: { $group: { 1: "inside" } } }))).toBe(true);
		expect(Buffer.from(valuesAt(content, "1")[0] as Uint8Array).toString()).toBe("Still readable.");
	});

	it("fields come out of order and twice", async () => {
		await start("db-shuffled").closed;
		expect(fieldNumbers(payloadOf(1))).toEqual([20, 5, 4, 4, 1]);
		expect([numberAt(payloadOf(1), "4"), textAt(payloadOf(1), "20.1")]).toEqual([3, "last wins"]);
		expect(file.steps[1]?.metadata).toEqual(bytesAt(payloadOf(1), "5"));
	});

	it("varints are as long as they may be", async () => {
		await start("db-varints").closed;
		expect([numberAt(payloadOf(1), "28.6"), numberAt(payloadOf(1), "28.12"), numberAt(payloadOf(1), "28.13")]).toEqual([
			-9, 1, -1,
		]);
		expect(file.text(1, "5.4.1")).toBe("call_0");
	});

	it("known fields have other wire types", async () => {
		await start("db-wrong-types").closed;
		expect(file.text(1, "20.12")).toBe("text");
		expect(numberAt(payloadOf(1), "20.3")).toBe(5);
		expect(file.text(2, "13.4.2")).toBe("3");
	});

	it("a payload is cut short until it is whole", async () => {
		const run = start("db-torn");
		await agy.reached("held");
		expect(() => fieldNumbers(payloadOf(1))).toThrow("cut within a field");
		expect(numberAt(file.steps[1]?.metadata as Uint8Array, "20.2")).toBe(1);
		agy.openGate("go");
		await run.closed;
		expect(file.text(1, "20.1")).toBe("Whole at last.");
	});

	it("a blob column holds text, or nothing", async () => {
		await start("db-odd-columns").closed;
		expect(file.steps.map(({ step_payload }) => typeof step_payload)).toEqual(["object", "string", "object", "object"]);
		expect(file.steps[2]?.step_payload).toBeNull();
		expect(file.text(3, "20.1")).toBe("After all that.");
	});
});

describe("scripted rows", () => {
	it("get type, status and metadata by themselves, and keep what the script says of them", async () => {
		const call = { 1: "call_7", 2: "grep_search", 3: "{}" };
		await start({
			database: { rows: "scripted" },
			turns: [
				{
					before: [{ kind: "row", idx: 4, type: 90, status: 3 }],
					steps: [
						{ kind: "row", idx: 5, type: 7, status: 7, payload: { 5: { 4: call, 3: 6 }, 31: { 1: "{{prompt}}" } } },
						{
							kind: "row",
							idx: 6,
							type: 15,
							status: 8,
							payload: "0a",
							columns: { metadata: { $hex: "0801" }, render_info: 5 },
						},
						{ kind: "row", idx: 7, type: 15, status: 3, payload: { 20: { 1: "bare" } }, envelope: false },
						{ kind: "sql", sql: "INSERT INTO battle_mode_infos VALUES (?, ?)", parameters: [1, { 1: "x" }] },
						{ kind: "sql", sql: "UPDATE steps SET status = 6 WHERE idx = 6" },
					],
				},
			],
		}).closed;
		expect(file.outline).toEqual(["4/90/3", "5/7/7", "6/15/6", "7/15/3"]);
		const grep = payloadOf(1);
		expect([numberAt(grep, "1"), numberAt(grep, "4"), numberAt(grep, "5.3"), textAt(grep, "5.4.2")]).toEqual([
			7,
			7,
			6,
			"grep_search",
		]);
		expect(file.steps[1]?.metadata).toEqual(bytesAt(grep, "5"));
		expect(textAt(file.steps[1]?.error_details as Uint8Array, "1")).toBe("hi");
		expect([file.steps[2]?.step_payload, file.steps[2]?.metadata]).toEqual([
			new Uint8Array([10]),
			new Uint8Array([8, 1]),
		]);
		expect([fieldNumbers(payloadOf(3)), file.steps[3]?.metadata]).toEqual([[20], null]);
		expect(file.all("SELECT * FROM battle_mode_infos")).toEqual([{ idx: 1, data: new Uint8Array([10, 1, 120]) }]);
	});

	it("of one transaction appear together, or not at all", async () => {
		const row = (idx: number) => ({ kind: "row", idx, type: 15, status: 3 });
		const run = start({
			database: { rows: "scripted", pauses: [{ at: "before-commit", number: 2, marker: "written", gate: "commit" }] },
			turns: [
				{
					steps: [
						...[{ kind: "begin" }, row(0), row(1), { kind: "touch", marker: "inside" }, { kind: "wait", gate: "end" }],
						...[{ kind: "commit" }, { kind: "begin" }, row(2), { kind: "rollback" }],
					],
				},
			],
		});
		await agy.reached("inside");
		expect(file.types).toEqual([]);
		agy.openGate("end");
		await agy.reached("written"); // the first commit is the file's own description
		expect(file.types).toEqual([]);
		agy.openGate("commit");
		await run.closed;
		expect(file.types).toEqual([15, 15]);
	});

	it("db-two-rows: both appear in one commit and both grow", async () => {
		const run = start("db-two-rows");
		await agy.reached("held");
		expect([file.outline, file.text(1, "20.1")]).toEqual([["0/14/3", "1/15/8", "2/15/8"], "One"]);
		agy.openGate("go");
		await run.closed;
		expect([file.text(1, "20.1"), file.text(2, "20.1"), file.text(0, "19.2")]).toEqual([
			"One grown.",
			"Two grown.",
			"hi",
		]);
	});

	it("need a database, unless it is switched off from outside", async () => {
		const scenario = { turns: [{ steps: [{ kind: "row", idx: 0, type: 15, status: 3 }] }] };
		const run = start(scenario);
		expect((await run.closed).code).not.toBe(0);
		expect(run.stderr).toContain('a "row" step needs a scenario with a database');
		const off = agy.start({ scenario, args: ["-p", "hi"], env: { AGY_SIM_DATABASE: "off" } });
		expect((await off.closed).code).toBe(0);
	});
});
