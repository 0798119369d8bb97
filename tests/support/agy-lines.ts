/**
 * Lines of agy's stdout as values, in the documented envelopes (docs/protocols/agy-stream-json.md): the conversation id
 * stands beside the payload of `init` and inside the other two.
 */

type Json = { readonly [key: string]: unknown };

export const CONVERSATION = "c0ffee00-0000-4000-8000-00000000000a";

export function initLine(init: Json = {}): Json {
	return { event: "init", conversation_id: CONVERSATION, init };
}

export function stepLine(step_index: number, state: string, step_type: string, more: Json = {}): Json {
	return {
		event: "step_update",
		step_update: { conversation_id: CONVERSATION, step_index, state, step_type, ...more },
	};
}

export function deltaLine(step_index: number, text_delta: string): Json {
	return stepLine(step_index, "ACTIVE", "agent_response", { text_delta });
}

export function toolLine(step_index: number, state: string, name: string, parameters: unknown, more: Json = {}): Json {
	const { output, error, ...rest } = more;
	return stepLine(step_index, state, "tool", {
		tool_name: name,
		...rest,
		tool_info: { name, parameters, ...(output !== undefined && { output }), ...(error !== undefined && { error }) },
	});
}

export function resultLine(result: Json = {}): Json {
	return {
		event: "result",
		result: {
			conversation_id: CONVERSATION,
			status: "SUCCESS",
			response: "",
			duration_seconds: 1.5,
			num_turns: 1,
			usage: usage(0, 0),
			...result,
		},
	};
}

export function usage(input: number, output: number, thinking = 0, cacheRead = 0): Json {
	return {
		input_tokens: input,
		output_tokens: output,
		thinking_tokens: thinking,
		cache_read_tokens: cacheRead,
		total_tokens: input + output,
	};
}

export function toLine(value: unknown): string {
	return `${JSON.stringify(value)}\n`;
}
