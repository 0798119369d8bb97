/** What a line reader must survive: noise, odd line ends, enormous lines, and frames that are not quite frames. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Scenario } from "../scenario/scenario.ts";
import type { Step } from "../scenario/step.ts";

const ANSWER: Step = { kind: "text", text: "Done.\n", deltaChars: 0 };
const BROWSER_NOTICE = "Opening in existing browser session.";
const STEP_LINE = '{"event":"step_update","step_update":{"conversation_id":"{{conversation}}",';
const MEBIBYTE = 1024 * 1024;

function script(about: string, ...steps: readonly Step[]): Scenario {
	return { about, turns: [{ steps: [...steps, ANSWER] }] };
}

function longLine(about: string, outputBytes: number): Scenario {
	const parameters = { CommandLine: "cat big" };
	return script(about, { kind: "tool", name: "run_command", permission: "allowed", parameters, outputBytes });
}

export const FRAMING: ScenarioFamily = {
	noise: script(
		"a line that is no JSON, a blank line, JSON that is no object",
		{ kind: "raw", text: BROWSER_NOTICE },
		{ kind: "raw", text: "" },
		{ kind: "raw", text: "42" },
		{ kind: "raw", text: "[1,2]" },
	),
	"glued-noise": script("noise and a frame on one line", { kind: "raw", text: BROWSER_NOTICE, newline: false }),
	crlf: script("a frame that ends in CR LF", {
		kind: "raw",
		text: `${STEP_LINE}"step_index":90,"state":"DONE","step_type":"system_message"}}\r`,
	}),
	"line-separators": script("U+2028, U+2029 and U+0085 raw within a string", {
		kind: "text",
		text: "one\u2028two\u2029three\u0085four\n",
	}),
	"html-escaped": {
		about: "angle brackets and ampersands escaped the way Go does",
		behaviour: { escapeHtml: true },
		turns: [{ steps: [{ kind: "text", text: "<b>bold & sure</b>\n" }] }],
	},
	"invalid-utf8": script("a delta with bytes that are no UTF-8", {
		kind: "raw",
		base64: Buffer.concat([
			Buffer.from(
				'{"event":"step_update","step_update":{"step_index":90,"state":"ACTIVE","step_type":"agent_response","text_delta":"',
			),
			Buffer.from([0xc3, 0x28, 0xff]),
			Buffer.from('"}}'),
		]).toString("base64"),
	}),
	"raw-newline": script("a line feed within a string cuts a frame in two lines", {
		kind: "raw",
		text: `${STEP_LINE}"step_index":90,"state":"ACTIVE","step_type":"agent_response","text_delta":"cut\nhere"}}`,
	}),
	"flat-envelope": script(
		"a frame without nesting, and one keyed by type",
		{
			kind: "raw",
			text: '{"event":"step_update","step_index":90,"state":"DONE","step_type":"system_message"}',
		},
		{ kind: "raw", text: '{"type":"step_update","step_update":{"step_index":91,"state":"DONE","step_type":"title"}}' },
	),
	"long-line": longLine("a line of more than 2 MiB", 2 * MEBIBYTE + 1),
	"giant-line": longLine("a line of more than 32 MiB", 32 * MEBIBYTE + 1),
	"login-notice": script("the harmless notice of a silent sign-in refresh on stderr", {
		kind: "stderr",
		line: "You are not logged into Antigravity.",
	}),
	"stderr-flood": script("64 KiB of stderr within the turn", { kind: "stderr", line: "W warning ".repeat(6554) }),
};
