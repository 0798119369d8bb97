/**
 * The display tool: pi's card for a step that agy ran by itself. pi "runs" it when a message ends with its call; it
 * returns what agy did and does nothing on its own: while a command runs, what it has printed so far; at its end its
 * output, the diff of an edit, the images that were made. It is active but never declared to a model, so that no model
 * calls it.
 */

import { type ExtensionAPI, renderDiff, type ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import { type Static, Type } from "typebox";
import { settlesWithin } from "../deadline.ts";
import type { StepOutcome, Steps } from "../steps.ts";
import type { StepView } from "./step-files.ts";

export const STEP_TOOL_NAME = "antigravity";

const COLLAPSED_LINES = 8;
/** A diff says more by the line than output does. */
const COLLAPSED_DIFF_LINES = 24;
/** Reading two files and asking git takes milliseconds; a disk that hangs must not hang the card. */
const VIEW_TIMEOUT_MS = 8_000;
const TITLE_CHARS = 160;

const Parameters = Type.Object({
	tool: Type.String({ description: "The agy tool that ran" }),
	args: Type.Record(Type.String(), Type.Unknown(), { description: "What agy called it with" }),
});

/** `diff` of an edit, in pi's form. */
type Details = { readonly state: string; readonly durationMs: number | null; readonly diff?: string };

/** Registers the tool. `steps` is where the turns put what agy did. */
export function registerStepTool(pi: ExtensionAPI, steps: Steps): void {
	const tool: ToolDefinition<typeof Parameters, Details> = {
		name: STEP_TOOL_NAME,
		label: "agy",
		description: "Shows a step that agy ran by itself. Not for calling.",
		parameters: Parameters,
		exposure: "model-only",
		prepareLoadout: () => ({ hiddenDeclarations: [STEP_TOOL_NAME] }),
		async execute(callId, _parameters, signal, onUpdate) {
			const unwatch = steps.watch(callId, (text) =>
				onUpdate?.({ content: [{ type: "text", text }], details: { state: "active", durationMs: null } }),
			);
			try {
				const outcome = await withAbort(steps.outcome(callId), signal);
				return toResult(outcome, outcome.view ? await withAbort(withLimit(outcome.view), signal) : null);
			} finally {
				unwatch();
			}
		},
		renderCall(args, theme) {
			return new Text(
				`${theme.fg("toolTitle", theme.bold(`agy ${args.tool}`))} ${theme.fg("muted", toTitle(args))}`,
				0,
				0,
			);
		},
		renderResult(result, { expanded, isPartial }, theme, context) {
			const output = result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
			const lines = output === "" ? [] : output.trimEnd().split(/\r?\n/);
			const color = context.isError ? "error" : "toolOutput";
			if (isPartial) {
				const shown = expanded ? lines : lines.slice(-COLLAPSED_LINES); // The newest of what a command prints.
				const printed = shown.length > 0 ? [theme.fg(color, shown.join("\n"))] : [];
				return new Text([...printed, theme.fg("warning", "running")].join("\n"), 0, 0);
			}
			const { diff } = (result.details ?? {}) as Partial<Details>;
			const hint = (hidden: number) =>
				theme.fg("muted", `… ${hidden} more lines (${context.keyHint("app.tools.expand", "to expand")})`);
			const parts = collapse(lines, expanded ? lines.length : COLLAPSED_LINES, hint, (text) => theme.fg(color, text));
			if (typeof diff === "string") {
				const diffLines = diff.split("\n");
				parts.push(...collapse(diffLines, expanded ? diffLines.length : COLLAPSED_DIFF_LINES, hint, renderDiff));
			}
			const duration = toDuration(result.details);
			if (duration) parts.push(theme.fg("muted", duration));
			return new Text(parts.join("\n"), 0, 0);
		},
	};
	pi.registerTool(tool);
}

function toResult(outcome: StepOutcome, view: StepView | null) {
	const text = [outcome.output, view?.summary ?? ""].filter((part) => part !== "").join("\n");
	const diff = view?.diff ?? null;
	return {
		content: [{ type: "text" as const, text: text || "(no output)" }, ...(view?.images ?? [])],
		details: { state: outcome.state, durationMs: outcome.durationMs, ...(diff !== null && { diff }) },
		isError: outcome.state === "error" || outcome.state === "lost",
	};
}

/** The first lines, and how many more there are. */
function collapse(
	lines: readonly string[],
	maxLines: number,
	hint: (hidden: number) => string,
	render: (text: string) => string,
): string[] {
	const shown = render(lines.slice(0, maxLines).join("\n"));
	return lines.length > maxLines ? [shown, hint(lines.length - maxLines)] : [shown];
}

/** The arguments on one line: of a sub-agent what it is and does, of an edit the file alone, for the diff shows the rest. */
function toTitle({ args }: Static<typeof Parameters>): string {
	const subagents = toSubagentTitles(args.agents);
	const file = "TargetFile" in args ? [args.TargetFile] : null;
	const values = subagents ?? file ?? Object.values(args);
	const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
	const title = texts.join(" ").replaceAll(/\s+/g, " ");
	return title.length > TITLE_CHARS ? `${title.slice(0, TITLE_CHARS)}…` : title;
}

/** `type (role): prompt` of each; null when these are no sub-agents. Takes arguments of older sessions, too: anything. */
function toSubagentTitles(agents: unknown): readonly string[] | null {
	if (!Array.isArray(agents)) return null;
	return agents.map((agent: unknown) => {
		const { type, role, prompt } = (agent ?? {}) as Readonly<Record<string, unknown>>;
		const part = (value: unknown, before: string, after: string) =>
			typeof value === "string" && value !== "" ? `${before}${value}${after}` : "";
		return part(type, "", "") + part(role, " (", ")") + part(prompt, ": ", "");
	});
}

/** Takes details of older sessions for what they are: anything. */
function toDuration(details: Partial<Details> | undefined): string {
	const durationMs = details?.durationMs;
	const background = details?.state === "background" ? "in the background" : "";
	const seconds = typeof durationMs === "number" && durationMs >= 100 ? `${(durationMs / 1000).toFixed(1)} s` : "";
	return [seconds, background].filter((part) => part !== "").join(", ");
}

/** What is shown in place of what does not come in time. */
async function withLimit(view: Promise<StepView>): Promise<StepView> {
	const isThere = await settlesWithin(view, VIEW_TIMEOUT_MS);
	return isThere ? view : { summary: "(its files could not be read in time)", diff: null, images: [] };
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
