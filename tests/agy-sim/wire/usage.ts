/**
 * Token figures and their arithmetic: input excludes cache reads, output includes thinking, total is input plus output.
 * The figures of a model call are fixed by its place in the conversation and the length of its text, so that a test can
 * compute them.
 */

export type Usage = {
	readonly input_tokens: number;
	readonly output_tokens: number;
	readonly thinking_tokens: number;
	readonly cache_read_tokens: number;
	readonly total_tokens: number;
};

/** What a scenario may say about one model call; anything left out is filled in. */
export type UsageFigures = {
	readonly inputTokens?: number;
	readonly outputTokens?: number;
	readonly thinkingTokens?: number;
	readonly cacheReadTokens?: number;
};

export const NO_USAGE: Usage = toUsage({ inputTokens: 0, outputTokens: 0, thinkingTokens: 0, cacheReadTokens: 0 });

const FIRST_CALL = { inputTokens: 12_000, thinkingTokens: 25, cacheReadTokens: 0 };
const LATER_CALL = { inputTokens: 900, thinkingTokens: 10, cacheReadTokens: 11_500 };
const CHARACTERS_PER_TOKEN = 4;

export function modelCallUsage(isFirstCall: boolean, text: string, figures: UsageFigures = {}): Usage {
	const base = { ...(isFirstCall ? FIRST_CALL : LATER_CALL), ...figures };
	const outputTokens = figures.outputTokens ?? base.thinkingTokens + Math.ceil(text.length / CHARACTERS_PER_TOKEN);
	return toUsage({ ...base, outputTokens });
}

export function addUsage(a: Usage, b: Usage): Usage {
	return toUsage({
		inputTokens: a.input_tokens + b.input_tokens,
		outputTokens: a.output_tokens + b.output_tokens,
		thinkingTokens: a.thinking_tokens + b.thinking_tokens,
		cacheReadTokens: a.cache_read_tokens + b.cache_read_tokens,
	});
}

export function toUsage(figures: UsageFigures): Usage {
	const { inputTokens = 0, outputTokens = 0, thinkingTokens = 0, cacheReadTokens = 0 } = figures;
	return {
		input_tokens: inputTokens,
		output_tokens: outputTokens,
		thinking_tokens: thinkingTokens,
		cache_read_tokens: cacheReadTokens,
		total_tokens: inputTokens + outputTokens,
	};
}
