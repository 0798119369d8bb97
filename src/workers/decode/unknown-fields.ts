/**
 * Fields of agy's known events that nobody reads: a sign that agy says more than this version understands. Names alone
 * are looked at, and only where agy chooses them; what a tool's arguments are called is content. Pure.
 */

type Fields = { readonly [key: string]: unknown };

const NONE: readonly string[] = [];

const ENVELOPE = new Set(["event", "type", "conversation_id"]);
/** Of docs/protocols/agy-stream-json.md, with those that are known and not used. */
const PAYLOADS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
	["init", new Set(["conversation_id", "model", "agent", "cwd", "tools", "permission_mode", "json_schema", "usage"])],
	[
		"step_update",
		new Set([
			...["conversation_id", "step_index", "state", "step_type", "tool_name", "duration_seconds", "usage"],
			...["text_delta", "response_text", "thinking_delta", "thought_text", "thinking_tokens"],
			...["tool_info", "subagent_info", "output", "error", "error_message"],
		]),
	],
	[
		"result",
		new Set([
			...["conversation_id", "status", "response", "error", "duration_seconds", "num_turns", "usage"],
			...["structured_output", "json_schema", "denied_actions", "command"],
		]),
	],
]);
const INNER: ReadonlyMap<string, ReadonlySet<string>> = new Map([
	["tool_info", new Set(["name", "parameters", "output", "error"])],
	["usage", new Set(["input_tokens", "output_tokens", "thinking_tokens", "cache_read_tokens", "total_tokens"])],
]);
const STATUSES = new Set([
	...["SUCCESS", "OK", "ERROR", "FAILURE", "CANCELED", "CANCELLED", "TIMEOUT"],
	...["INTERRUPTED", "INVALID", "WAITING", "RUNNING"],
]);

/** Such as `step_update.retry_hint`; of a flat line, whose payload stands beside the event's name, too. */
export function unknownFieldsOf(line: Fields): readonly string[] {
	const event = nameOf(line);
	const known = PAYLOADS.get(event);
	if (known === undefined) return NONE;
	const payload = line[event];
	const found: string[] = [];
	if (isFields(payload)) {
		for (const key in line) if (key !== event && !ENVELOPE.has(key)) found.push(key);
	}
	const fields = isFields(payload) ? payload : line;
	for (const key in fields) {
		if (!known.has(key) && !(fields === line && ENVELOPE.has(key))) found.push(`${event}.${key}`);
		const inner = INNER.get(key);
		const value = inner && fields[key];
		if (inner === undefined || !isFields(value)) continue;
		for (const innerKey in value) if (!inner.has(innerKey)) found.push(`${event}.${key}.${innerKey}`);
	}
	return found;
}

/** A status of a result that is not among the known ones; null when it is, or there is none. */
export function unknownStatusOf(line: Fields): string | null {
	if (nameOf(line) !== "result") return null;
	const result = isFields(line.result) ? line.result : line;
	const { status } = result;
	return typeof status === "string" && status !== "" && !STATUSES.has(status.toUpperCase()) ? status : null;
}

function nameOf({ event, type }: Fields): string {
	if (typeof event === "string" && event !== "") return event;
	return typeof type === "string" ? type : "";
}

function isFields(value: unknown): value is Fields {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
