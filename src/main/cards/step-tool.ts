/**
 * The display tool: pi's card for a step that agy ran by itself. pi "runs" it when a message ends with its call; it
 * returns what agy did and does nothing on its own. It is active but never declared to a model, so that no model calls it.
 */

import type { ExtensionAPI, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { type Static, Type } from "typebox";
import type { Steps } from "../steps.ts";

export const STEP_TOOL_NAME = "antigravity";

const COLLAPSED_LINES = 8;
const TITLE_CHARS = 160;

const Parameters = Type.Object({
	tool: Type.String({ description: "The agy tool that ran" }),
	args: Type.Record(Type.String(), Type.Unknown(), { description: "What agy called it with" }),
});

type Details = { readonly state: string; readonly durationMs: number | null };

/** Registers the tool. `steps` is where the turns put what agy did. */
export function registerStepTool(pi: ExtensionAPI, steps: Steps): void {
	const tool: ToolDefinition<typeof Parameters, Details> = {
		name: STEP_TOOL_NAME,
		label: "agy",
		description: "Shows a step that agy ran by itself. Not for calling.",
		parameters: Parameters,
		exposure: "model-only",
		prepareLoadout: () => ({ hiddenDeclarations: [STEP_TOOL_NAME] }),
		async execute(callId, _parameters, signal) {
			const outcome = await withAbort(steps.outcome(callId), signal);
			return {
				content: [{ type: "text", text: outcome.output || "(no output)" }],
				details: { state: outcome.state, durationMs: outcome.durationMs },
				isError: outcome.state === "error" || outcome.state === "lost",
			};
		},
		renderCall(args, theme) {
			return new Text(
				`${theme.fg("toolTitle", theme.bold(`agy ${args.tool}`))} ${theme.fg("muted", toTitle(args))}`,
				0,
				0,
			);
		},
		renderResult(result, { expanded, isPartial }, theme, context) {
			if (isPartial) return new Text(theme.fg("warning", "running"), 0, 0);
			const output = result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
			const lines = output.trimEnd().split(/\r?\n/);
			const shown = expanded ? lines : lines.slice(0, COLLAPSED_LINES);
			const hidden = lines.length - shown.length;
			const color = context.isError ? "error" : "toolOutput";
			const parts = [theme.fg(color, shown.join("\n"))];
			if (hidden > 0)
				parts.push(theme.fg("muted", `… ${hidden} more lines (${context.keyHint("app.tools.expand", "to expand")})`));
			const duration = toDuration(result.details);
			if (duration) parts.push(theme.fg("muted", duration));
			return new Text(parts.join("\n"), 0, 0);
		},
	};
	pi.registerTool(tool);
}

/** The argument that says most, on one line. */
function toTitle({ args }: Static<typeof Parameters>): string {
	const values = Object.values(args).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
	const title = values.join(" ").replaceAll(/\s+/g, " ");
	return title.length > TITLE_CHARS ? `${title.slice(0, TITLE_CHARS)}…` : title;
}

/** Takes details of older sessions for what they are: anything. */
function toDuration(details: Partial<Details> | undefined): string {
	const durationMs = details?.durationMs;
	const background = details?.state === "background" ? "in the background" : "";
	const seconds = typeof durationMs === "number" && durationMs >= 100 ? `${(durationMs / 1000).toFixed(1)} s` : "";
	return [seconds, background].filter((part) => part !== "").join(", ");
}

async function withAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
	if (!signal) return promise;
	signal.throwIfAborted();
	let onAbort = () => {};
	const aborted = new Promise<never>((_resolve, reject) => {
		onAbort = () => reject(signal.reason);
		signal.addEventListener("abort", onAbort, { once: true });
	});
	try {
		return await Promise.race([promise, aborted]);
	} finally {
		signal.removeEventListener("abort", onAbort);
	}
}
