/** Generators of everything that crosses a thread, for property tests. Fields are as wild as the contract allows. */
import fc from "fast-check";
import type { AgyEvent, JsonObject, TokenUsage } from "../../src/shared/events.ts";
import type { LaneCommand, LaneMessage } from "../../src/shared/messages.ts";

/** Whole code points: control characters, emoji and combining marks included, lone surrogates not. */
const anyText = fc.string({ unit: "binary", maxLength: 40 });
const anyStep = fc.integer({ min: -1, max: 100_000 });
const anyState = fc.constantFrom("active" as const, "done" as const, "error" as const);
const anyDuration = fc.double({ min: 0, max: 1e9, noNaN: true, noDefaultInfinity: true }).map((ms) => ms + 0);

/** What a JSON line can hold; without -0, which JSON.stringify does not keep, and without the key no frame keeps. */
export const anyJsonObject = fc
	.dictionary(
		anyText.filter((key) => key !== "__proto__"),
		fc.jsonValue({ maxDepth: 4 }),
	)
	.map((value) => JSON.parse(JSON.stringify(value).replaceAll('"__proto__"', '"proto"')) as JsonObject);

const anyUsage: fc.Arbitrary<TokenUsage> = record({
	input: fc.nat(),
	output: fc.nat(),
	thinking: fc.nat(),
	cacheRead: fc.maxSafeNat(),
});

/** Plain objects, as decoders make them. */
function record<T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
	return fc.record(model, { noNullPrototype: true });
}

function optional<T extends object, K extends keyof T>(model: { [P in keyof T]: fc.Arbitrary<T[P]> }, keys: K[]) {
	const requiredKeys = (Object.keys(model) as (keyof T)[]).filter((key) => !keys.includes(key as K));
	return fc.record(model, { requiredKeys, noNullPrototype: true }) as fc.Arbitrary<Omit<T, K> & Partial<Pick<T, K>>>;
}

const anyEvent: fc.Arbitrary<AgyEvent> = fc.oneof(
	record({
		kind: fc.constant("ready" as const),
		conversationId: anyText,
		model: anyText,
		permissionMode: anyText,
		toolCount: fc.nat(),
	}),
	record({
		kind: fc.constantFrom("text" as const, "thinking" as const, "withheld-answer" as const),
		step: anyStep,
		text: anyText,
	}),
	optional({ kind: fc.constant("model-call" as const), step: anyStep, usage: anyUsage, durationMs: anyDuration }, [
		"usage",
		"durationMs",
	]),
	optional(
		{
			kind: fc.constant("tool" as const),
			step: anyStep,
			state: anyState,
			name: anyText,
			args: anyJsonObject,
			output: anyText,
			error: record({ type: anyText, message: anyText }),
			durationMs: anyDuration,
		},
		["output", "error", "durationMs"],
	),
	optional(
		{
			kind: fc.constant("subagent" as const),
			step: anyStep,
			state: anyState,
			agents: fc.array(
				optional({ type: anyText, role: anyText, prompt: anyText, conversationId: anyText }, ["conversationId"]),
				{ maxLength: 3 },
			),
			durationMs: anyDuration,
		},
		["durationMs"],
	),
	optional({ kind: fc.constant("notice" as const), step: anyStep, type: anyText, usage: anyUsage }, ["usage"]),
	optional(
		{
			kind: fc.constant("unknown" as const),
			what: fc.constantFrom("event" as const, "step-type" as const, "step-state" as const),
			name: anyText,
			usage: anyUsage,
		},
		["usage"],
	),
	optional(
		{
			kind: fc.constant("turn-end" as const),
			status: anyText,
			text: anyText,
			error: anyText,
			conversationId: anyText,
			usage: anyUsage,
			turnCount: fc.nat(),
			deniedActions: fc.array(record({ action: anyText, displayName: anyText }), { maxLength: 3 }),
		},
		["usage"],
	),
);

const anyLink = fc.integer({ min: 1, max: 2 ** 32 });

const anyContainer = fc.constantFrom("ogg" as const, "wav" as const);
const anyDecibels = fc.double({ min: -100, max: -0.1, noNaN: true });

export const anyMessage: fc.Arbitrary<LaneMessage> = fc.oneof(
	record({
		kind: fc.constant("events" as const),
		link: anyLink,
		bytes: fc.nat(),
		events: fc.array(anyEvent, { maxLength: 5 }),
	}),
	record({
		kind: fc.constant("lines-rejected" as const),
		link: anyLink,
		count: fc.nat(),
		byteLength: fc.nat(),
		reason: fc.constantFrom("too-long" as const, "not-json" as const, "not-object" as const),
		sample: anyText,
	}),
	record({
		kind: fc.constant("drift" as const),
		link: anyLink,
		shapes: fc.array(
			record({ what: fc.constantFrom("event" as const, "field" as const), name: anyText, count: fc.nat() }),
			{ maxLength: 3 },
		),
	}),
	record({ kind: fc.constant("stderr" as const), link: anyLink, text: anyText }),
	record({
		kind: fc.constant("level" as const),
		link: anyLink,
		capturedMs: fc.nat(),
		rmsDb: anyDecibels,
		peakDb: anyDecibels,
	}),
	record({
		kind: fc.constant("captured" as const),
		link: anyLink,
		result: record({
			capturedMs: fc.nat(),
			loudestDb: anyDecibels,
			encoded: fc.oneof(
				record({
					ok: fc.constant(true as const),
					mimeType: fc.constantFrom("audio/ogg" as const, "audio/wav" as const),
					durationMs: fc.nat(),
					byteLength: fc.nat(),
					base64: fc.uint8Array({ maxLength: 64 }),
				}),
				record({ ok: fc.constant(false as const), problem: anyText }),
			),
		}),
	}),
	record({ kind: fc.constant("input-failed" as const), link: anyLink, message: anyText }),
	record({ kind: fc.constant("output-ended" as const), link: anyLink }),
	record({
		kind: fc.constant("log" as const),
		level: fc.constantFrom("debug" as const, "info" as const, "warn" as const, "error" as const),
		text: anyText,
	}),
);

export const anyCommand: fc.Arbitrary<LaneCommand> = fc.oneof(
	record({
		kind: fc.constant("open" as const),
		link: anyLink,
		token: anyText,
		capture: fc.option(record({ directory: anyText, turns: fc.nat() })),
		subject: fc.option(
			fc.oneof(
				record({
					kind: fc.constant("run" as const),
					conversationsDir: anyText,
					conversationId: fc.option(anyText),
					prompt: anyText,
					workspace: anyText,
					startedAtMs: fc.nat(),
				}),
				record({ kind: fc.constant("capture" as const), path: anyText, container: anyContainer }),
				record({ kind: fc.constant("feed" as const), into: anyLink }),
			),
		),
	}),
	record({ kind: fc.constant("process-started" as const), link: anyLink, pid: fc.nat() }),
	record({
		kind: fc.constant("process-exited" as const),
		link: anyLink,
		exit: record({ code: fc.option(fc.nat()), signal: fc.option(anyText) }),
	}),
	record({ kind: fc.constant("write" as const), link: anyLink, text: anyText }),
	record({
		kind: fc.constantFrom("end-input" as const, "unwatch-transcript" as const, "drop" as const),
		link: anyLink,
	}),
	record({ kind: fc.constant("ack" as const), link: anyLink, seq: fc.nat() }),
	record({ kind: fc.constant("watch-transcript" as const), link: anyLink, path: anyText, afterStep: anyStep }),
);

export function anyFrame<M>(message: fc.Arbitrary<M>) {
	return record({ seq: fc.integer({ min: 1, max: 2 ** 40 }), messages: fc.array(message, { maxLength: 6 }) });
}
