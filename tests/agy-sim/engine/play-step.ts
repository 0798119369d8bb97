/** Hands each step of a script to the file that knows its kind. */
import type { Step } from "../scenario/step.ts";
import { failApi } from "./steps/api-failure.ts";
import { playDatabaseStep } from "./steps/database-steps.ts";
import { runHookStep } from "./steps/hook-run.ts";
import { callMcp } from "./steps/mcp-call.ts";
import { printEvent, printRaw, printStderr, sendPlainStep, writeTranscript } from "./steps/plain-steps.ts";
import { crash, hangTurn, spawnGrandchild, touch, waitForThing } from "./steps/process-steps.ts";
import { launchSubagent } from "./steps/subagent.ts";
import { saySteady, sayText, think } from "./steps/text.ts";
import { runParallelTools, runTool } from "./steps/tool.ts";
import type { StepOutcome, TurnRun } from "./turn-run.ts";

export function playStep(run: TurnRun, step: Step): Promise<StepOutcome> {
	run.signal.throwIfAborted();
	switch (step.kind) {
		case "text":
			return sayText(run, step);
		case "steady":
			return saySteady(run, step);
		case "think":
			return think(run, step);
		case "tool":
			return runTool(run, step);
		case "parallel":
			return runParallelTools(run, step);
		case "mcp":
			return callMcp(run, step);
		case "subagent":
			return launchSubagent(run, step);
		case "step":
			return sendPlainStep(run, step);
		case "event":
			return printEvent(run, step);
		case "raw":
			return printRaw(run, step);
		case "stderr":
			return printStderr(run, step);
		case "wait":
			return waitForThing(run, step);
		case "touch":
			return touch(run, step);
		case "crash":
			return crash(run, step);
		case "hang":
			return hangTurn(run, step);
		case "grandchild":
			return spawnGrandchild(run, step);
		case "hook":
			return runHookStep(run, step);
		case "api-failure":
			return failApi(run, step);
		case "transcript":
			return writeTranscript(run, step);
		case "row":
		case "sql":
		case "begin":
		case "commit":
		case "rollback":
		case "rewind":
		case "fork":
		case "recreate":
		case "finish-tool":
		case "neighbour":
		case "last-conversations":
			return playDatabaseStep(run, step);
	}
}
