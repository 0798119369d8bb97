/** Long because it is a table: every documented shape of a line and every spelling of it, one row each. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgyEvent, TokenUsage } from "../../../src/shared/events.ts";
import { encode } from "../../../src/shared/frames.ts";
import { fields, toEvents } from "../../../src/workers/decode/stream-json.ts";
import { CONVERSATION, deltaLine, initLine, resultLine, stepLine, toolLine, usage } from "../../support/agy-lines.ts";

type Line = { readonly [key: string]: unknown };
type Row = readonly [name: string, line: Line, events: readonly AgyEvent[]];

const NO_TOKENS: TokenUsage = { input: 0, output: 0, thinking: 0, cacheRead: 0 };

function turnEnd(more: Partial<Extract<AgyEvent, { kind: "turn-end" }>> = {}): AgyEvent {
	return {
		kind: "turn-end",
		status: "SUCCESS",
		text: "",
		error: "",
		conversationId: CONVERSATION,
		turnCount: 1,
		deniedActions: [],
		usage: NO_TOKENS,
		...more,
	};
}

test("the documented envelopes are what the tables below are made of", () => {
	expect(JSON.stringify(stepLine(0, "DONE", "user_input"))).toBe(
		'{"event":"step_update","step_update":{"conversation_id":"c0ffee00-0000-4000-8000-00000000000a","step_index":0,"state":"DONE","step_type":"user_input"}}',
	);
	expect(JSON.stringify(initLine({ cwd: "/srv/demo" }))).toBe(
		'{"event":"init","conversation_id":"c0ffee00-0000-4000-8000-00000000000a","init":{"cwd":"/srv/demo"}}',
	);
});

function describeRows(name: string, rows: readonly Row[]): void {
	describe(name, () => {
		test.each(rows)("%s", (_name, line, events) => {
			expect(toEvents(line)).toStrictEqual(events);
		});
	});
}

describeRows("init", [
	[
		"with everything",
		initLine({
			model: "gemini-3.8-flash-low",
			agent: "reviewer",
			json_schema: { type: "object" },
			cwd: "/srv/demo",
			tools: ["call_mcp_tool", "run_command"],
			permission_mode: "always-proceed",
		}),
		[
			{
				kind: "ready",
				conversationId: CONVERSATION,
				model: "gemini-3.8-flash-low",
				permissionMode: "always-proceed",
				toolCount: 2,
			},
		],
	],
	[
		"of an agy started without a model",
		initLine({ cwd: "/srv/demo", tools: [], permission_mode: "request-review" }),
		[{ kind: "ready", conversationId: CONVERSATION, model: "", permissionMode: "request-review", toolCount: 0 }],
	],
	[
		"without a tool list, as before 1.1.9",
		initLine({ permission_mode: "strict" }),
		[{ kind: "ready", conversationId: CONVERSATION, model: "", permissionMode: "strict", toolCount: 0 }],
	],
	[
		"with the conversation id inside the payload",
		{ event: "init", init: { conversation_id: "inside", tools: null } },
		[{ kind: "ready", conversationId: "inside", model: "", permissionMode: "", toolCount: 0 }],
	],
	[
		"with both ids: the one beside the payload counts",
		{ event: "init", conversation_id: "beside", init: { conversation_id: "inside" } },
		[{ kind: "ready", conversationId: "beside", model: "", permissionMode: "", toolCount: 0 }],
	],
	[
		"without any payload",
		{ event: "init" },
		[{ kind: "ready", conversationId: "", model: "", permissionMode: "", toolCount: 0 }],
	],
]);

describeRows("agent_response", [
	["a piece of text", deltaLine(1, "Good mor"), [{ kind: "text", step: 1, text: "Good mor" }]],
	[
		"the last piece together with the end of the call",
		stepLine(1, "DONE", "agent_response", {
			text_delta: " back.\n",
			duration_seconds: 1.904112,
			usage: usage(12_000, 40, 25),
		}),
		[
			{ kind: "text", step: 1, text: " back.\n" },
			{
				kind: "model-call",
				step: 1,
				usage: { input: 12_000, output: 40, thinking: 25, cacheRead: 0 },
				durationMs: 1904.112,
			},
		],
	],
	[
		"a call without text",
		stepLine(1, "DONE", "agent_response", { duration_seconds: 2.2, usage: usage(12_100, 120, 80, 9_400) }),
		[
			{
				kind: "model-call",
				step: 1,
				usage: { input: 12_100, output: 120, thinking: 80, cacheRead: 9_400 },
				durationMs: 2200,
			},
		],
	],
	["an end without figures", stepLine(1, "DONE", "agent_response"), [{ kind: "model-call", step: 1 }]],
	["an end with an error", stepLine(1, "ERROR", "agent_response"), [{ kind: "model-call", step: 1 }]],
	["an empty piece", deltaLine(1, ""), []],
	[
		"thinking text, which no capture has",
		stepLine(5, "ACTIVE", "agent_response", { thinking_delta: "hm" }),
		[{ kind: "thinking", step: 5, text: "hm" }],
	],
	[
		"thinking text under its other name, before the answer",
		stepLine(5, "ACTIVE", "agent_response", { text_delta: "a", thought_text: "hm" }),
		[
			{ kind: "thinking", step: 5, text: "hm" },
			{ kind: "text", step: 5, text: "a" },
		],
	],
	[
		"the answer under its other name",
		stepLine(5, "ACTIVE", "agent_response", { response_text: "a" }),
		[{ kind: "text", step: 5, text: "a" }],
	],
]);

const FETCH = { Url: "http://127.0.0.1:1/" };
const DENIED =
	'permission check failed for command "echo probe": user denied permission to run command:\necho probe\n(advice)';

describeRows("tool", [
	[
		"has started",
		toolLine(2, "ACTIVE", "view_file", { AbsolutePath: "/srv/demo/src/sum.ts" }),
		[{ kind: "tool", step: 2, state: "active", name: "view_file", args: { AbsolutePath: "/srv/demo/src/sum.ts" } }],
	],
	[
		"is done, with output",
		toolLine(
			5,
			"DONE",
			"run_command",
			{ CommandLine: "make test" },
			{ duration_seconds: 0.64, output: "4 passed\r\n" },
		),
		[
			{
				kind: "tool",
				step: 5,
				state: "done",
				name: "run_command",
				args: { CommandLine: "make test" },
				output: "4 passed\r\n",
				durationMs: 640,
			},
		],
	],
	[
		"is done, without output",
		toolLine(4, "DONE", "replace_file_content", { TargetFile: "/srv/demo/src/sum.ts" }, { duration_seconds: 0 }),
		[
			{
				kind: "tool",
				step: 4,
				state: "done",
				name: "replace_file_content",
				args: { TargetFile: "/srv/demo/src/sum.ts" },
				durationMs: 0,
			},
		],
	],
	[
		"failed",
		toolLine(4, "ERROR", "read_url_content", FETCH, {
			duration_seconds: 0.02,
			error: { type: "TOOL_ERROR", message: "Failed to fetch" },
		}),
		[
			{
				kind: "tool",
				step: 4,
				state: "error",
				name: "read_url_content",
				args: FETCH,
				error: { type: "TOOL_ERROR", message: "Failed to fetch" },
				durationMs: 20,
			},
		],
	],
	[
		"was denied",
		toolLine(
			2,
			"ERROR",
			"run_command",
			{ CommandLine: "echo probe" },
			{ error: { type: "TOOL_ERROR", message: DENIED } },
		),
		[
			{
				kind: "tool",
				step: 2,
				state: "error",
				name: "run_command",
				args: { CommandLine: "echo probe" },
				error: { type: "TOOL_ERROR", message: DENIED },
			},
		],
	],
	[
		"was denied and is reported as done",
		toolLine(2, "DONE", "run_command", { CommandLine: "echo probe" }),
		[{ kind: "tool", step: 2, state: "done", name: "run_command", args: { CommandLine: "echo probe" } }],
	],
	[
		"is an MCP call",
		toolLine(
			4,
			"DONE",
			"call_mcp_tool",
			{ Arguments: { a: 19, b: 23 }, ServerName: "calc", ToolName: "add" },
			{ output: "42" },
		),
		[
			{
				kind: "tool",
				step: 4,
				state: "done",
				name: "call_mcp_tool",
				args: { Arguments: { a: 19, b: 23 }, ServerName: "calc", ToolName: "add" },
				output: "42",
			},
		],
	],
	[
		"has its output beside tool_info",
		stepLine(6, "DONE", "tool", { tool_name: "view_file", tool_info: { parameters: {} }, output: "beside" }),
		[{ kind: "tool", step: 6, state: "done", name: "view_file", args: {}, output: "beside" }],
	],
	[
		"has output in both places: the inner one counts",
		stepLine(6, "DONE", "tool", { tool_name: "view_file", tool_info: { output: "inside" }, output: "beside" }),
		[{ kind: "tool", step: 6, state: "done", name: "view_file", args: {}, output: "inside" }],
	],
	[
		"has an output that is no text",
		toolLine(6, "DONE", "call_mcp_tool", {}, { output: { lines: [1, 2] } }),
		[{ kind: "tool", step: 6, state: "done", name: "call_mcp_tool", args: {}, output: '{"lines":[1,2]}' }],
	],
	[
		"has an empty output",
		toolLine(6, "DONE", "view_file", {}, { output: "" }),
		[{ kind: "tool", step: 6, state: "done", name: "view_file", args: {}, output: "" }],
	],
	[
		"has an output that is null",
		toolLine(6, "DONE", "view_file", {}, { output: null }),
		[{ kind: "tool", step: 6, state: "done", name: "view_file", args: {} }],
	],
	[
		"has its error beside tool_info, as a text",
		stepLine(6, "ERROR", "tool", { tool_name: "view_file", error: "no such file" }),
		[
			{
				kind: "tool",
				step: 6,
				state: "error",
				name: "view_file",
				args: {},
				error: { type: "TOOL_ERROR", message: "no such file" },
			},
		],
	],
	[
		"has its error under its other name",
		stepLine(6, "ERROR", "tool", { tool_name: "view_file", error_message: "no such file" }),
		[
			{
				kind: "tool",
				step: 6,
				state: "error",
				name: "view_file",
				args: {},
				error: { type: "TOOL_ERROR", message: "no such file" },
			},
		],
	],
	[
		"has an error of another type, without a message",
		toolLine(6, "ERROR", "view_file", {}, { error: { type: "TIMEOUT", code: 7 } }),
		[
			{
				kind: "tool",
				step: 6,
				state: "error",
				name: "view_file",
				args: {},
				error: { type: "TIMEOUT", message: '{"type":"TIMEOUT","code":7}' },
			},
		],
	],
	[
		"has its name only inside",
		stepLine(6, "ACTIVE", "tool", { tool_info: { name: "view_file" } }),
		[{ kind: "tool", step: 6, state: "active", name: "view_file", args: {} }],
	],
	[
		"has no name at all",
		stepLine(6, "ACTIVE", "tool"),
		[{ kind: "tool", step: 6, state: "active", name: "tool", args: {} }],
	],
	[
		"has its arguments as JSON text",
		toolLine(6, "ACTIVE", "call_mcp_tool", '{"ServerName":"calc"}'),
		[{ kind: "tool", step: 6, state: "active", name: "call_mcp_tool", args: { ServerName: "calc" } }],
	],
	[
		"has arguments that are no JSON",
		toolLine(6, "ACTIVE", "call_mcp_tool", "{oops"),
		[{ kind: "tool", step: 6, state: "active", name: "call_mcp_tool", args: {} }],
	],
	[
		"has a list in place of its arguments",
		toolLine(6, "ACTIVE", "call_mcp_tool", [1, 2]),
		[{ kind: "tool", step: 6, state: "active", name: "call_mcp_tool", args: {} }],
	],
]);

const RESEARCHER = { type_name: "researcher", role: "Looks things up", initial_prompt: "Find the licence file" };

describeRows("subagent", [
	[
		"has started",
		stepLine(2, "ACTIVE", "subagent", { tool_name: "invoke_subagent", subagent_info: { subagents: [RESEARCHER] } }),
		[
			{
				kind: "subagent",
				step: 2,
				state: "active",
				agents: [{ type: "researcher", role: "Looks things up", prompt: "Find the licence file" }],
			},
		],
	],
	[
		"was launched",
		stepLine(2, "DONE", "subagent", {
			tool_name: "invoke_subagent",
			duration_seconds: 0.021,
			subagent_info: {
				subagents: [
					{
						...RESEARCHER,
						conversation_id: "child",
						log_uri: "file:///x.jsonl",
						workspace_uris: ["file:///srv/demo"],
					},
				],
			},
		}),
		[
			{
				kind: "subagent",
				step: 2,
				state: "done",
				agents: [
					{ type: "researcher", role: "Looks things up", prompt: "Find the licence file", conversationId: "child" },
				],
				durationMs: 21,
			},
		],
	],
	[
		"with its id directly under the info, as older versions have it",
		stepLine(2, "DONE", "subagent", { subagent_info: { conversation_id: "child", log_uri: "file:///x.jsonl" } }),
		[
			{
				kind: "subagent",
				step: 2,
				state: "done",
				agents: [{ type: "", role: "", prompt: "", conversationId: "child" }],
			},
		],
	],
	[
		"two at once, one of them no object",
		stepLine(2, "ACTIVE", "subagent", { subagent_info: { subagents: [RESEARCHER, "?"] } }),
		[
			{
				kind: "subagent",
				step: 2,
				state: "active",
				agents: [
					{ type: "researcher", role: "Looks things up", prompt: "Find the licence file" },
					{ type: "", role: "", prompt: "" },
				],
			},
		],
	],
]);

describeRows("steps without content", [
	["user_input", stepLine(0, "DONE", "user_input"), [{ kind: "notice", step: 0, type: "user_input" }]],
	[
		"system_message",
		stepLine(5, "DONE", "system_message", { duration_seconds: 0.000151 }),
		[{ kind: "notice", step: 5, type: "system_message" }],
	],
	[
		"error_message, which is no failure by itself",
		stepLine(5, "DONE", "error_message", { duration_seconds: 0 }),
		[{ kind: "notice", step: 5, type: "error_message" }],
	],
	[
		"checkpoint, which costs something",
		stepLine(3, "DONE", "checkpoint", { duration_seconds: 0.5, usage: usage(400, 8) }),
		[{ kind: "notice", step: 3, type: "checkpoint", usage: { input: 400, output: 8, thinking: 0, cacheRead: 0 } }],
	],
	["title", stepLine(4, "DONE", "title"), [{ kind: "notice", step: 4, type: "title" }]],
	["unknown", stepLine(1, "DONE", "unknown"), [{ kind: "notice", step: 1, type: "unknown" }]],
]);

describeRows("result", [
	[
		"of a plain turn",
		resultLine({ response: "Hi.\n", num_turns: 2, usage: usage(12_900, 70, 35, 11_500) }),
		[
			turnEnd({
				text: "Hi.\n",
				turnCount: 2,
				usage: { input: 12_900, output: 70, thinking: 35, cacheRead: 11_500 },
			}),
		],
	],
	[
		"that failed with text",
		resultLine({ status: "ERROR", response: "The first half is", error: "UNAVAILABLE (code 503)" }),
		[turnEnd({ status: "ERROR", text: "The first half is", error: "UNAVAILABLE (code 503)" })],
	],
	[
		"of a start that failed",
		resultLine({ conversation_id: "", status: "ERROR", num_turns: 0, error: "authentication failed or timed out" }),
		[turnEnd({ conversationId: "", status: "ERROR", turnCount: 0, error: "authentication failed or timed out" })],
	],
	[
		"with denied actions",
		resultLine({ denied_actions: [{ action: "command", display_name: "RunCommand" }, "mcp", { action: "read_url" }] }),
		[
			turnEnd({
				deniedActions: [
					{ action: "command", displayName: "RunCommand" },
					{ action: "mcp", displayName: "" },
					{ action: "read_url", displayName: "" },
				],
			}),
		],
	],
	[
		"with structured output",
		resultLine({ response: '{"ok":true}', structured_output: { ok: true }, json_schema: { type: "object" } }),
		[turnEnd({ text: '{"ok":true}' })],
	],
	[
		"of a command agy answered itself",
		resultLine({ num_turns: 0, command: { name: "usage", data: { groups: [] } } }),
		[turnEnd({ turnCount: 0 })],
	],
	["in lower case", resultLine({ status: "success" }), [turnEnd()]],
	["that says OK", resultLine({ status: "OK" }), [turnEnd({ status: "OK" })]],
	["with a status nobody knows", resultLine({ status: "Waiting" }), [turnEnd({ status: "WAITING" })]],
	[
		"with an error that is an object",
		resultLine({ status: "ERROR", error: { type: "API", code: 429, message: "quota reached" } }),
		[turnEnd({ status: "ERROR", error: "quota reached" })],
	],
	[
		"with an error object without a message",
		resultLine({ status: "ERROR", error: { code: 429 } }),
		[turnEnd({ status: "ERROR", error: '{"code":429}' })],
	],
	["with an error that is null", resultLine({ error: null }), [turnEnd()]],
	[
		"with nothing in it",
		{ event: "result", result: {} },
		[
			{
				kind: "turn-end",
				status: "",
				text: "",
				error: "",
				conversationId: "",
				turnCount: 0,
				deniedActions: [],
			},
		],
	],
	[
		"with the conversation id beside the payload",
		{ event: "result", conversation_id: "beside", result: { status: "SUCCESS", usage: usage(0, 0), num_turns: 1 } },
		[turnEnd({ conversationId: "beside" })],
	],
]);

describeRows("where sources disagree, both spellings are taken", [
	[
		"type in place of event",
		{
			type: "step_update",
			step_update: { step_index: 1, state: "ACTIVE", step_type: "agent_response", text_delta: "a" },
		},
		[{ kind: "text", step: 1, text: "a" }],
	],
	[
		"a flat step",
		{ event: "step_update", step_index: 1, state: "ACTIVE", step_type: "agent_response", text_delta: "a" },
		[{ kind: "text", step: 1, text: "a" }],
	],
	[
		"a flat result, keyed by type",
		{
			type: "result",
			conversation_id: CONVERSATION,
			status: "SUCCESS",
			num_turns: 1,
			usage: usage(0, 0),
			response: "a",
		},
		[turnEnd({ text: "a" })],
	],
	[
		"numbers as texts",
		stepLine("7" as unknown as number, "DONE", "agent_response", {
			duration_seconds: "1.5",
			usage: { input_tokens: "10", output_tokens: "2", thinking_tokens: "", cache_read_tokens: "x" },
		}),
		[
			{
				kind: "model-call",
				step: 7,
				usage: { input: 10, output: 2, thinking: 0, cacheRead: 0 },
				durationMs: 1500,
			},
		],
	],
	[
		"a state in lower case",
		stepLine(1, "active", "agent_response", { text_delta: "a" }),
		[{ kind: "text", step: 1, text: "a" }],
	],
	["OK as a step's state", stepLine(1, "OK", "agent_response"), [{ kind: "model-call", step: 1 }]],
	[
		"a step without an index",
		{ event: "step_update", step_update: { state: "DONE", step_type: "title" } },
		[{ kind: "notice", step: -1, type: "title" }],
	],
]);

const TEN: TokenUsage = { input: 10, output: 2, thinking: 0, cacheRead: 0 };

describeRows("what is unknown survives", [
	["an event", { event: "hologram", hologram: { a: 1 } }, [{ kind: "unknown", what: "event", name: "hologram" }]],
	["no event name", { message: "hello" }, [{ kind: "unknown", what: "event", name: "" }]],
	["an event name that is no text", { event: 7 }, [{ kind: "unknown", what: "event", name: "" }]],
	[
		"an event named like a part of every object",
		{ event: "constructor" },
		[{ kind: "unknown", what: "event", name: "constructor" }],
	],
	[
		"an event with an endless name",
		{ event: "x".repeat(500) },
		[{ kind: "unknown", what: "event", name: "x".repeat(80) }],
	],
	["a step type", stepLine(1, "DONE", "hologram"), [{ kind: "unknown", what: "step-type", name: "hologram" }]],
	[
		"a step type that costs something",
		stepLine(1, "DONE", "hologram", { usage: usage(10, 2) }),
		[{ kind: "unknown", what: "step-type", name: "hologram", usage: TEN }],
	],
	["no step type", stepLine(1, "DONE", ""), [{ kind: "unknown", what: "step-type", name: "" }]],
	[
		"a state of a tool step, which is still shown",
		toolLine(2, "WAITING", "view_file", {}),
		[
			{ kind: "unknown", what: "step-state", name: "WAITING" },
			{ kind: "tool", step: 2, state: "active", name: "view_file", args: {} },
		],
	],
	[
		"a state of an answer, whose text and tokens still count",
		stepLine(2, "CANCELED", "agent_response", { text_delta: "half", usage: usage(10, 2) }),
		[
			{ kind: "unknown", what: "step-state", name: "CANCELED", usage: TEN },
			{ kind: "text", step: 2, text: "half" },
		],
	],
	[
		"a state of a step without content, whose tokens count once",
		stepLine(2, "CANCELED", "checkpoint", { usage: usage(10, 2) }),
		[
			{ kind: "unknown", what: "step-state", name: "CANCELED" },
			{ kind: "notice", step: 2, type: "checkpoint", usage: TEN },
		],
	],
	[
		"no state",
		{ event: "step_update", step_update: { step_index: 1, step_type: "title" } },
		[
			{ kind: "unknown", what: "step-state", name: "" },
			{ kind: "notice", step: 1, type: "title" },
		],
	],
]);

describe("whatever a line holds", () => {
	const anyName = fc.constantFrom("init", "step_update", "result", "hologram", "__proto__", "toString");
	const anyValue = fc.jsonValue({ maxDepth: 4 });
	const anyStepPayload = fc.record(
		{
			conversation_id: anyValue,
			step_index: anyValue,
			state: fc.oneof(fc.constantFrom("ACTIVE", "DONE", "ERROR"), anyValue),
			step_type: fc.oneof(fc.constantFrom("agent_response", "tool", "subagent", "user_input"), anyValue),
			tool_name: anyValue,
			text_delta: anyValue,
			thinking_delta: anyValue,
			duration_seconds: anyValue,
			usage: fc.oneof(fc.record({ input_tokens: anyValue, output_tokens: anyValue }), anyValue),
			tool_info: fc.oneof(fc.record({ parameters: anyValue, output: anyValue, error: anyValue }), anyValue),
			subagent_info: fc.oneof(fc.record({ subagents: anyValue }), anyValue),
			error: anyValue,
			output: anyValue,
		},
		{ requiredKeys: [] },
	);
	const anyResultPayload = fc.record(
		{
			status: anyValue,
			response: anyValue,
			error: anyValue,
			num_turns: anyValue,
			usage: anyValue,
			denied_actions: anyValue,
		},
		{ requiredKeys: [] },
	);
	const anyLine = fc
		.tuple(anyName, fc.oneof(anyStepPayload, anyResultPayload, anyValue), fc.boolean())
		.map(([name, payload, isNested]) =>
			isNested ? { event: name, [name]: payload } : { ...(fields(payload) ?? {}), event: name },
		);

	test("nothing throws, and every event can be put into a frame", () => {
		fc.assert(
			fc.property(anyLine, (line) => {
				for (const event of toEvents(JSON.parse(JSON.stringify(line)))) expect(encode(event).length).toBeGreaterThan(0);
			}),
			{ numRuns: 1_000 },
		);
	});

	test("no event holds undefined", () => {
		fc.assert(
			fc.property(anyLine, (line) => {
				const events = toEvents(JSON.parse(JSON.stringify(line)));
				expect(JSON.parse(JSON.stringify(events))).toStrictEqual(events);
			}),
		);
	});

	test.each(["parameters", "output", "error"])(
		"%s nested deeper than any stack neither throws here nor in the frame",
		(field) => {
			const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
			const line = `{"event":"step_update","step_update":{"step_index":1,"state":"DONE","step_type":"tool","tool_info":{"name":"x","${field}":{"a":${deep}}}}}`;
			const events = toEvents(JSON.parse(line));
			expect(events).toMatchObject([{ kind: "tool", step: 1, state: "done", name: "x" }]);
			expect(encode(events).length).toBeLessThan(10_000);
		},
	);
});

describe("fields", () => {
	test.each([[null], [undefined], [[]], ["x"], [1], [true]])("%j is no object", (value) => {
		expect(fields(value)).toBeNull();
	});

	test("an object is itself", () => {
		const value = { a: 1 };
		expect(fields(value)).toBe(value);
	});
});
