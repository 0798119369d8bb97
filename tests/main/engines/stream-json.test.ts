import { describe, expect, test } from "vitest";
import type { Profile } from "../../../src/main/engines/engine.ts";
import { streamJsonEngine } from "../../../src/main/engines/stream-json.ts";

const PROFILE: Profile = {
	bin: "/opt/agy",
	cwd: "/srv/demo",
	addDirs: ["/var/spill"],
	modelSlug: "gemini-3.8-flash-low",
	mode: "default",
	skipPermissions: false,
	agent: null,
	missingFlags: [],
	extraArgs: [],
};

const HEAD = [
	...["--input-format", "stream-json", "--output-format", "stream-json"],
	...["--add-dir", "/srv/demo", "--add-dir", "/var/spill", "--model", "gemini-3.8-flash-low"],
];
const TAIL = ["--print-timeout", "24h"];

describe("the arguments", () => {
	test.each<[string, Partial<Profile>, string | null, readonly string[]]>([
		["a fresh conversation", {}, null, [...HEAD, "--disable-slash-commands", ...TAIL]],
		["a resumed one", {}, "c1", [...HEAD, "--conversation", "c1", "--disable-slash-commands", ...TAIL]],
		[
			"permissions skipped",
			{ skipPermissions: true },
			null,
			[...HEAD, "--dangerously-skip-permissions", "--disable-slash-commands", ...TAIL],
		],
		[
			"accept-edits",
			{ mode: "accept-edits", skipPermissions: true },
			null,
			[...HEAD, "--mode", "accept-edits", "--dangerously-skip-permissions", "--disable-slash-commands", ...TAIL],
		],
		[
			"plan: neither skips permissions nor disables slash commands, which would make it edit",
			{ mode: "plan", skipPermissions: true },
			null,
			[...HEAD, "--mode", "plan", ...TAIL],
		],
		["an agent", { agent: "reviewer" }, null, [...HEAD, "--agent", "reviewer", "--disable-slash-commands", ...TAIL]],
		[
			"an agy that has few flags",
			{
				mode: "accept-edits",
				agent: "reviewer",
				skipPermissions: true,
				missingFlags: ["mode", "agent", "dangerously-skip-permissions", "disable-slash-commands", "print-timeout"],
			},
			"c1",
			[...HEAD, "--conversation", "c1"],
		],
		[
			"the user's own, last",
			{ extraArgs: ["--sandbox", "--print-timeout", "1h"] },
			"c1",
			[...HEAD, "--conversation", "c1", "--disable-slash-commands", ...TAIL, "--sandbox", "--print-timeout", "1h"],
		],
	])("%s", (_name, more, conversationId, args) => {
		expect(streamJsonEngine.args({ ...PROFILE, ...more }, conversationId, "")).toStrictEqual(args);
	});

	test("never hold a prompt flag, which would swallow the next one", () => {
		for (const mode of ["default", "accept-edits", "plan"] as const) {
			const args = streamJsonEngine.args({ ...PROFILE, mode, skipPermissions: true, agent: "a" }, "c", "");
			expect(args.filter((arg) => ["-p", "--print", "--prompt", "-c", "--continue"].includes(arg))).toStrictEqual([]);
		}
	});
});

describe("a prompt", () => {
	test.each(["Hi.", "two\nlines\r\n", 'quotes " and \\', "/model", "é 😀 \u2028", ""])(
		"%j is one line of JSON",
		(text) => {
			const line = streamJsonEngine.encodePrompt(streamJsonEngine.payload(text));
			expect(line.indexOf("\n")).toBe(line.length - 1);
			expect(JSON.parse(line)).toStrictEqual({ event: "user", message: { role: "user", content: text } });
		},
	);

	test.each([
		["ours", streamJsonEngine.payload("a"), streamJsonEngine.payload("a")],
		[
			"with more fields, which agy would not take",
			{ event: "x", message: { content: "b", id: 1 }, y: 2 },
			streamJsonEngine.payload("b"),
		],
		["without a text", { message: { content: [{ type: "text", text: "b" }] } }, null],
		["without a message", { event: "user" }, null],
		["nothing", undefined, null],
		["null", null, null],
		["a text", "b", null],
	])("a hook's payload: %s", (_name, value, payload) => {
		expect(streamJsonEngine.parsePayload(value)).toStrictEqual(payload);
	});
});
