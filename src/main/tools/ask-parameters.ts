/** The delegation tool as a model is told of it: its name, and what it is called with. */

import { type Static, Type } from "typebox";
import { THINKING_LEVELS } from "../settings/values.ts";

export const ASK_TOOL_NAME = "AskAntigravity";
export const MODES = ["default", "accept-edits", "plan"] as const;
export const DEFAULT_TIMEOUT_MIN = 10;
const MAX_FILES = 200;

export const AskParameters = Type.Object({
	prompt: Type.String({
		minLength: 1,
		description: "The whole task. agy knows nothing of this conversation unless includeContext is set.",
	}),
	cwd: Type.Optional(Type.String({ description: "Where agy works. Default: the working directory of this session." })),
	model: Type.Optional(
		Type.String({
			description:
				'An id of agy\'s list, or a part of one: flash, pro, gemini, sonnet, opus, "sonnet 4.6"; with -low, -medium or -high behind it for the thinking level.',
		}),
	),
	thinking: Type.Optional(oneOf(THINKING_LEVELS, "Thinking level; the nearest that the model has is taken.")),
	mode: Type.Optional(oneOf(MODES, "agy's mode. plan asks for a plan, and is no protection from changes.")),
	files: Type.Optional(
		Type.Array(Type.String(), {
			maxItems: MAX_FILES,
			description: "Files or folders that agy is pointed to; relative to cwd. They must exist.",
		}),
	),
	conversationId: Type.Optional(
		Type.String({ description: "Go on with this conversation of agy: the id that an earlier result ended with." }),
	),
	schema: Type.Optional(
		Type.Record(Type.String(), Type.Unknown(), {
			description:
				'A JSON schema with "type": "object" at its root. The answer is then one JSON value, checked against it.',
		}),
	),
	timeoutMinutes: Type.Optional(
		Type.Number({
			minimum: 0.05,
			maximum: 1440,
			description: `Minutes until agy is stopped; what it has said by then is kept. Default: ${DEFAULT_TIMEOUT_MIN}.`,
		}),
	),
	includeContext: Type.Optional(
		Type.Boolean({ description: "Give agy the transcript of this session as a file. Default: false." }),
	),
});

/** As a plain enum: some providers take no union of constants. */
function oneOf<const T extends string>(values: readonly T[], description: string) {
	return Type.Unsafe<T>({ type: "string", enum: [...values], description });
}

export type AskArguments = Static<typeof AskParameters>;
