/** Native tool steps: every order, ending and oddity a tool can show in the stream. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Scenario } from "../scenario/scenario.ts";
import type { Step, ToolScript } from "../scenario/step.ts";

const ONE_PIXEL_PNG =
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ANSWER: Step = { kind: "text", text: "Done.\n", deltaChars: 0 };
const FETCH_ERROR = "Failed to fetch document content at http://127.0.0.1:1/";

const VIEW: ToolScript = {
	name: "view_file",
	parameters: { AbsolutePath: "{{workspace}}/src/sum.ts" },
	arguments: { AbsolutePath: "{{workspace}}/src/sum.ts", StartLine: 1, EndLine: 12 },
	output: "12 lines, 240 bytes",
};
const EDIT: ToolScript = {
	name: "replace_file_content",
	permission: "allowed",
	parameters: { TargetFile: "{{workspace}}/src/sum.ts" },
	arguments: {
		TargetFile: "{{workspace}}/src/sum.ts",
		TargetContent: "a - b",
		ReplacementContent: "a + b",
		Instruction: "Fix the sign",
	},
	durationSeconds: 0.027,
};
const RUN: ToolScript = {
	name: "run_command",
	permission: "allowed",
	parameters: { CommandLine: "make test" },
	arguments: { CommandLine: "make test", Cwd: "{{workspace}}", SafeToAutoRun: false, WaitMsBeforeAsync: 500 },
	output: "4 passed\r\n",
	durationSeconds: 0.64,
};

function script(about: string, ...steps: readonly Step[]): Scenario {
	return { about, turns: [{ steps }] };
}

export const TOOLS: ScenarioFamily = {
	tools: script(
		"a read, an edit and a command between model calls; the edit and the command run at once",
		{ kind: "think" },
		{ kind: "tool", ...VIEW },
		{ kind: "text", text: "I will fix the sign and run the tests.\n" },
		{ kind: "parallel", tools: [EDIT, RUN] },
		{ kind: "text", text: "All four tests pass now.\n" },
	),
	"parallel-tools": script(
		"three tools at once that end in another order",
		{ kind: "parallel", tools: [VIEW, EDIT, RUN], finishOrder: [2, 0, 1] },
		ANSWER,
	),
	"repeated-active": script("ACTIVE comes three times", { kind: "tool", ...RUN, active: 3 }, ANSWER),
	"no-active": script("DONE without any ACTIVE", { kind: "tool", ...RUN, active: 0 }, ANSWER),
	"no-output": script(
		"tools without output: the field is absent",
		{ kind: "tool", ...EDIT },
		{ kind: "tool", name: "run_command", permission: "allowed", parameters: { CommandLine: "exit 3" } },
		ANSWER,
	),
	"output-beside": {
		about: "output beside tool_info instead of in it",
		behaviour: { toolOutput: "step" },
		turns: [{ steps: [{ kind: "tool", ...RUN }, ANSWER] }],
	},
	"tool-error": script(
		"a tool fails, a blank error_message follows, the answer comes (result ERROR up to 1.1.19)",
		{
			kind: "tool",
			name: "read_url_content",
			permission: "allowed",
			parameters: { Url: "http://127.0.0.1:1/" },
			end: "error",
			error: FETCH_ERROR,
		},
		{ kind: "step", stepType: "error_message" },
		{ kind: "text", text: "The page could not be fetched.\n" },
	),
	"tool-rejected": script(
		"a call turned down before it runs: a blank error_message and prose, no tool step",
		{ kind: "tool", name: "view_file", end: "rejected" },
		{ kind: "text", text: "model output error: invalid tool call error (invalid_args) no such file\n" },
	),
	"tool-open": script(
		"a background command that is still ACTIVE when the turn ends",
		{ kind: "tool", ...RUN, end: "open" },
		{ kind: "text", text: "The server runs in the background.\n" },
	),
	"background-task": script(
		"an ACTIVE command holds the turn open until gate `task-done` (marker `task-running`)",
		{ kind: "tool", ...RUN, end: "open" },
		{ kind: "text", text: "Waiting for the build.\n" },
		{ kind: "touch", marker: "task-running" },
		{ kind: "wait", gate: "task-done" },
		ANSWER,
	),
	"artifact-path": script(
		"a write that is taken for an artifact and fails",
		{
			kind: "tool",
			name: "write_to_file",
			permission: "allowed",
			parameters: { TargetFile: "{{workspace}}/notes.md" },
			end: "error",
			error: "{{workspace}}/notes.md is not a valid artifact path",
		},
		ANSWER,
	),
	"edits-file": script(
		"write_to_file really writes agy-sim-was-here.txt into the workspace, if the flags permit it",
		{
			kind: "tool",
			name: "write_to_file",
			parameters: { TargetFile: "{{workspace}}/agy-sim-was-here.txt" },
			arguments: {
				TargetFile: "{{workspace}}/agy-sim-was-here.txt",
				CodeContent: "written by the simulator\n",
				Overwrite: true,
				Description: "A note",
			},
			writes: { path: "agy-sim-was-here.txt", text: "written by the simulator\n" },
		},
		ANSWER,
	),
	image: script(
		"generate_image: no output, the file lies in the brain folder",
		{
			kind: "tool",
			name: "generate_image",
			parameters: { Prompt: "a red pixel" },
			arguments: { Prompt: "a red pixel", ImageName: "pixel" },
			writes: { path: "pixel.png", in: "brain", base64: ONE_PIXEL_PNG },
		},
		{ kind: "text", text: "The image is {{brain}}/pixel.png\n" },
	),
};
