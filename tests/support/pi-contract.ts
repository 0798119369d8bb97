/** pi's contract of a streamed message, as a check: blocks are balanced, one at a time, and exactly one event ends it. */
import type { AssistantMessage, AssistantMessageEvent } from "@earendil-works/pi-ai";

type OpenBlock = { readonly type: string; readonly index: number; content: string };

/** What breaks the contract, in words; empty when nothing does. */
export function problemsOf(events: readonly AssistantMessageEvent[]): readonly string[] {
	const problems: string[] = [];
	const [first] = events;
	const live = first?.type === "start" ? first.partial : null;
	let open: OpenBlock | null = null;
	let blockCount = 0;
	let isEnded = false;
	const isFailureAlone = events.length === 1 && first?.type === "error";
	if (!live && !isFailureAlone) problems.push("does not begin with start");
	for (const [position, event] of events.entries()) {
		const report = (problem: string) => problems.push(`${position} ${event.type}: ${problem}`);
		if (isEnded) report("after the end");
		if (live && messageOf(event) !== live) report("not the live message");
		switch (event.type) {
			case "start":
				if (position > 0) report("again");
				break;
			case "done":
			case "error":
				if (open) report(`block ${open.index} is open`);
				for (const problem of endProblems(event)) report(problem);
				isEnded = true;
				break;
			case "text_start":
			case "thinking_start":
			case "toolcall_start":
				if (open) report(`block ${open.index} is open`);
				if (event.contentIndex !== blockCount++) report(`has index ${event.contentIndex}`);
				open = { type: event.type.replace("_start", ""), index: event.contentIndex, content: "" };
				break;
			case "text_delta":
			case "thinking_delta":
			case "toolcall_delta":
				if (!isOf(event, open)) report("its block is not open");
				else if (event.delta === "") report("is empty");
				else open.content += event.delta;
				break;
			case "text_end":
			case "thinking_end":
			case "toolcall_end":
				if (!isOf(event, open)) report("its block is not open");
				else if (contentOf(event) !== open.content) report(`${contentOf(event)} is not ${open.content}`);
				open = null;
		}
	}
	if (!isEnded) problems.push("has no end");
	return problems;
}

type Of<T extends AssistantMessageEvent["type"]> = Extract<AssistantMessageEvent, { type: T }>;

function isOf(
	event: { readonly type: string; readonly contentIndex: number },
	open: OpenBlock | null,
): open is OpenBlock {
	return open?.type === event.type.replace(/_(delta|end)$/, "") && open.index === event.contentIndex;
}

function contentOf(event: Of<"text_end" | "thinking_end" | "toolcall_end">): string {
	return event.type === "toolcall_end" ? JSON.stringify(event.toolCall.arguments) : event.content;
}

function messageOf(event: AssistantMessageEvent): AssistantMessage {
	if (event.type === "done") return event.message;
	return event.type === "error" ? event.error : event.partial;
}

function* endProblems(event: Of<"done" | "error">): Generator<string> {
	const message = messageOf(event);
	if (message.stopReason !== event.reason) yield `the stop reason is ${message.stopReason}`;
	const hasCalls = message.content.some((block) => block.type === "toolCall");
	if (event.type === "done" && (event.reason === "toolUse") !== hasCalls)
		yield `${event.reason} does not fit its calls`;
}
