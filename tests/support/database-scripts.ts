/** Scenarios of the simulated agy whose database rows are written one by one, as short as a test can say them. */
import type { ScenarioData } from "./sandbox.ts";

type Row = { readonly kind: "row"; readonly idx: number; readonly type: number; readonly [field: string]: unknown };

/** The prompt's row, then these, and no others. */
export function rows(...steps: readonly object[]): ScenarioData {
	return scripted({}, user(0), ...steps);
}

export function scripted(database: object, ...steps: readonly object[]): ScenarioData {
	return { database: { rows: "scripted", ...database }, turns: [{ steps }] };
}

export function user(idx: number): Row {
	return row(idx, 14, 3, { 19: { 2: "{{prompt}}", 3: { 1: "{{prompt}}" } } });
}

export function row(idx: number, type: number, status: number, payload: unknown = {}): Row {
	return { kind: "row", idx, type, status, payload };
}

/** A model call; of a text only, its field 20.1. */
export function planner(idx: number, status: number, content: string | object, metadata: object = {}): Row {
	return row(idx, 15, status, { 5: metadata, 20: typeof content === "string" ? { 1: content } : content });
}

/** A row that runs a tool: number and name of the call, and the fields of the result. */
export function command(idx: number, status: number, result: object = {}, type = 21): Row {
	return row(idx, type, status, { 5: { 4: call(idx) }, ...result });
}

export function call(number: number, args = '{"CommandLine":"make"}', name = "run_command"): object {
	return { 1: `call_${number}`, 2: name, 3: args };
}

/** A row of agy's own. Whoever has heard of it has read what was committed with it. */
export function mark(idx: number): Row {
	return row(idx, 90, 3);
}

export function together(...steps: readonly object[]): readonly object[] {
	return [{ kind: "begin" }, ...steps, { kind: "commit" }];
}

/** Touches the marker, and goes on when the gate of that name is open. */
export function hold(name: string): readonly object[] {
	return [
		{ kind: "touch", marker: name },
		{ kind: "wait", gate: name },
	];
}

export function sql(text: string, ...parameters: readonly unknown[]): object {
	return { kind: "sql", sql: text, ...(parameters.length > 0 && { parameters }) };
}
