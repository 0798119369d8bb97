/** All that a verdict looks at. */
import type { TurnEvidence } from "../../src/main/verdict.ts";
import type { TurnEndEvent } from "../../src/shared/events.ts";
import { turnEnd } from "./agy-events.ts";

/** A turn that ended well after some text; `more` says what was different. */
export function evidence(more: Partial<TurnEvidence> = {}): TurnEvidence {
	return {
		cause: "result",
		result: turnEnd({ text: "Hi.\n" }),
		sawOutput: true,
		sawText: true,
		isReused: false,
		toolCounts: new Map(),
		conversationId: "",
		deniedTools: [],
		toolErrors: [],
		stderr: "",
		exit: null,
		laneError: null,
		rejected: null,
		hookError: "",
		leftToolsRunning: false,
		timeoutMin: 0,
		...more,
	};
}

/** A turn of which nothing came but its result. */
export function bareEvidence(result: Partial<TurnEndEvent>, more: Partial<TurnEvidence> = {}): TurnEvidence {
	return evidence({ result: turnEnd(result), sawOutput: false, sawText: false, ...more });
}
