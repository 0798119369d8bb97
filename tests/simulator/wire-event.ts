/** The lines of the stream as tests read them: every field optional except what tells them apart. */

export type WireUsage = {
	readonly input_tokens: number;
	readonly output_tokens: number;
	readonly thinking_tokens: number;
	readonly cache_read_tokens: number;
	readonly total_tokens: number;
};

export type WireStep = {
	readonly conversation_id: string;
	readonly step_index: number;
	readonly state: string;
	readonly step_type: string;
	readonly tool_name?: string;
	readonly text_delta?: string;
	readonly duration_seconds?: number;
	readonly usage?: WireUsage;
	readonly tool_info?: {
		readonly name: string;
		readonly parameters: Readonly<Record<string, unknown>>;
		readonly output?: string;
		readonly error?: { readonly type: string; readonly message: string };
	};
	readonly output?: string;
	readonly subagent_info?: {
		readonly conversation_id?: string;
		readonly subagents: readonly { readonly conversation_id?: string; readonly initial_prompt: string }[];
	};
};

export type WireResult = {
	readonly conversation_id: string;
	readonly status: string;
	readonly response: string;
	readonly error?: unknown;
	readonly duration_seconds: number;
	readonly num_turns: number;
	readonly usage: WireUsage;
	readonly structured_output?: unknown;
	readonly json_schema?: unknown;
	readonly denied_actions?: readonly { readonly action: string; readonly display_name: string }[];
	readonly command?: { readonly name: string; readonly data: unknown };
};

export type WireEvent = {
	readonly event: string;
	readonly conversation_id?: string;
	readonly init?: {
		readonly model?: string;
		readonly agent?: string;
		readonly cwd: string;
		readonly tools?: readonly string[];
		readonly permission_mode: string;
		readonly json_schema?: unknown;
	};
	readonly step_update?: WireStep;
	readonly result?: WireResult;
};
