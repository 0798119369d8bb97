/**
 * A line of agy without its content: the same fields, texts of the same length made of one letter, figures that say nothing. And a
 * turn of such lines as a scenario of the simulator, to start from. Pure.
 */
import type { CaptureEntry } from "../../src/shared/capture.ts";
import { isFields, payloadOf, toFields, toKey, toName } from "./shape.ts";

type Fields = { readonly [key: string]: unknown };

/** Here agy's own words stand; below what a tool is called with, keys of the same names hold content. */
const WORDS =
	/^(event|type|((init|step_update|result)\.)?(step_type|state|status|tool_name|permission_mode)|(step_update\.)?tool_info\.name)$/;
/** These say nothing but where a line stands. */
const POSITIONS = /^((step_update|result)\.)?(step_index|num_turns)$/;
const CONVERSATION = /^((init|step_update|result)\.)?conversation_id$/;
/** The content of texts and lists is of no use, and their length of little. */
const MAX_TEXT_CHARS = 200;
const MAX_ELEMENTS = 5;
const FILLING = "x";

/** The lines of a turn, each as its skeleton; null for one that is no JSON object. */
export function toSkeletons(entries: readonly CaptureEntry[]): readonly (Fields | null)[] {
	return entries
		.filter(({ dir }) => dir === "out")
		.map(({ line }) => {
			const fields = toFields(line);
			return fields === null ? null : (toSkeleton(fields, "") as Fields);
		});
}

/**
 * Plays the lines as they were, but for their content. The simulator itself begins and ends each turn, so what agy said there is
 * left out.
 */
export function toScenario(
	version: string,
	turns: readonly { readonly match: string; readonly skeletons: readonly (Fields | null)[] }[],
): object {
	return {
		version,
		turns: turns.map(({ match, skeletons }) => ({
			match,
			steps: skeletons.flatMap((line) => {
				if (line === null) return [{ kind: "raw", text: "(a line that is no JSON)" }];
				const isOfTurn = ["init", "result"].includes(String(line.event)) || payloadOf(line).step_type === "user_input";
				return isOfTurn ? [] : [{ kind: "raw", text: JSON.stringify(line) }];
			}),
		})),
	};
}

function toSkeleton(value: unknown, path: string): unknown {
	if (Array.isArray(value)) return value.slice(0, MAX_ELEMENTS).map((element) => toSkeleton(element, `${path}[]`));
	if (isFields(value)) {
		const below = (key: string) => (path === "" ? key : `${path}.${key}`);
		return Object.fromEntries(Object.entries(value).map(([key, inner]) => [toKey(key), toSkeleton(inner, below(key))]));
	}
	if (typeof value === "string") return toSkeletonText(value, path);
	if (typeof value === "number") return POSITIONS.test(path) ? value : Number.isInteger(value) ? 1 : 0.5;
	return typeof value === "boolean" ? true : value;
}

function toSkeletonText(text: string, path: string): string {
	if (CONVERSATION.test(path)) return "{{conversation}}";
	return WORDS.test(path) ? toName(text) : FILLING.repeat(Math.min(text.length, MAX_TEXT_CHARS));
}
