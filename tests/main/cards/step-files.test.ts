import { mkdirSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StepFiles } from "../../../src/main/cards/step-files.ts";
import type { StepState, ToolEvent } from "../../../src/shared/events.ts";
import { failedTool, tool } from "../../support/agy-events.ts";
import { Folder } from "../../support/folder.ts";
import { type GitRunner, gitRunner } from "../../support/run-git.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n....", "latin1");

const folder = new Folder();
let git: GitRunner;
let files: StepFiles;

beforeEach(() => {
	git = gitRunner(folder);
	files = new StepFiles({ cwd: folder.path, runGit: git.run, brainDir: (id) => folder.at("brain", id) });
});
afterEach(() => git.close());

const edit = (step: number, state: StepState, more: Partial<ToolEvent> = {}) =>
	tool(step, state, { name: "write_to_file", args: { TargetFile: "a.ts" }, ...more });
const picture = (step: number, state: StepState) => tool(step, state, { name: "generate_image", args: {} });

test("an edit has its diff, however often it is heard of", async () => {
	await files.note(edit(2, "active"), "c1");
	expect(files.viewOf(2)).toBeNull();
	writeFileSync(folder.at("a.ts"), "one\n");
	void files.note(edit(2, "done"), "c1");
	const view = files.viewOf(2);
	void files.note(edit(2, "done"), "c1");
	expect(files.viewOf(2)).toBe(view);
	expect(await view).toStrictEqual({
		summary: "a.ts: new file, 1 added, 0 removed (lines).",
		diff: "+1 one",
		images: [],
	});
});

test("an image that was made within the step is shown", async () => {
	mkdirSync(folder.at("brain", "c1"), { recursive: true });
	void files.note(picture(2, "active"), "c1");
	writeFileSync(folder.at("brain", "c1", "a.png"), PNG);
	void files.note(picture(2, "done"), "c1");
	expect(await files.viewOf(2)).toMatchObject({ diff: null, images: [{ mimeType: "image/png" }] });
});

test.each<[string, ToolEvent, string]>([
	["of a step that failed", { ...failedTool(2, "no"), name: "write_to_file", args: { TargetFile: "a.ts" } }, "c1"],
	["of one that is done with an error", edit(2, "done", { error: { type: "TOOL_ERROR", message: "no" } }), "c1"],
	["of an edit without a file", edit(2, "done", { args: {} }), "c1"],
	["of any other step", tool(2, "done"), "c1"],
	["of an image before agy named its conversation", picture(2, "done"), ""],
	["of an image in a conversation whose name is a way out", picture(2, "done"), "../c1"],
])("there is nothing to show %s", (_name, event, conversationId) => {
	void files.note(event, conversationId);
	expect(files.viewOf(2)).toBeNull();
});
