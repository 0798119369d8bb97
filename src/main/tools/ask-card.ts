/** How pi shows a delegated run: the call on one line, progress while it runs, the answer with what it did. */

import type { AgentToolResult, Theme, ToolRenderResultOptions } from "@earendil-works/pi-coding-agent";
import { Text } from "@earendil-works/pi-tui";
import type { AskArguments } from "./ask-parameters.ts";
import { type AskDetails, progressLine, toSeconds } from "./ask-report.ts";

const COLLAPSED_LINES = 8;
const PROMPT_CHARS = 120;

export function renderAskCall({ prompt, model }: Partial<AskArguments>, theme: Theme): Text {
	const asked = (prompt ?? "").replaceAll(/\s+/g, " ").trim();
	const shown = asked.length > PROMPT_CHARS ? `${asked.slice(0, PROMPT_CHARS)}…` : asked;
	const title = theme.fg("toolTitle", theme.bold(model === undefined ? "ask agy" : `ask agy ${model}`));
	return new Text(`${title} ${theme.fg("muted", shown)}`, 0, 0);
}

export function renderAskResult(
	result: AgentToolResult<AskDetails>,
	{ expanded, isPartial }: ToolRenderResultOptions,
	theme: Theme,
	{ isError, expandKey }: { readonly isError: boolean; readonly expandKey: string },
): Text {
	const details: Partial<AskDetails> = result.details ?? {}; // Of an older session: anything.
	if (isPartial) return new Text(theme.fg("warning", details.state ? progressLine(result.details) : "running"), 0, 0);
	const text = result.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
	const lines = text.trimEnd().split(/\r?\n/);
	const shown = expanded ? lines : lines.slice(0, COLLAPSED_LINES);
	const parts = [theme.fg(isError ? "error" : "toolOutput", shown.join("\n"))];
	const hidden = lines.length - shown.length;
	if (hidden > 0) parts.push(theme.fg("muted", `… ${hidden} more lines (${expandKey})`));
	if (expanded) parts.push(...listOf("commands", details.commands), ...listOf("files", details.filesChanged?.files));
	const summary = summaryOf(details);
	if (summary !== "") parts.push(theme.fg("muted", summary));
	return new Text(parts.join("\n"), 0, 0);
}

function listOf(title: string, items: readonly string[] | undefined): readonly string[] {
	return items === undefined || items.length === 0 ? [] : [`${title}:`, ...items.map((item) => `  ${item}`)];
}

function summaryOf({ slug, durationMs, stepCount, filesChanged }: Partial<AskDetails>): string {
	const count = filesChanged?.files.length ?? 0;
	return [
		...(slug === undefined ? [] : [slug]),
		...(durationMs === undefined ? [] : [toSeconds(durationMs)]),
		...(stepCount ? [`${stepCount} ${stepCount === 1 ? "step" : "steps"}`] : []),
		...(count > 0 ? [`${count} ${count === 1 ? "file" : "files"} changed`] : []),
	].join(" · ");
}
