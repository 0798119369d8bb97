/**
 * A turn played at random: what agy prints, how it is cut into frames, what pi and the user do meanwhile, how it ends. The
 * play knows what must come out of it.
 */
import fc from "fast-check";
import { vi } from "vitest";
import { AgyError } from "../../src/shared/errors.ts";
import type { AgyEvent, SubagentEvent, ToolEvent } from "../../src/shared/events.ts";
import { TRANSCRIPT_LOOKUP_MS } from "../../src/shared/limits.ts";
import { failedTool, modelCall, notice, subagent, text, thinking, tool, turnEnd, unknown } from "./agy-events.ts";
import { TurnStage } from "./turn-stage.ts";

type Print =
	| "text"
	| "thinking"
	| "model-call"
	| "notice"
	| "unknown"
	| "tool-active"
	| "view-active"
	| "subagent-active"
	| "tool-whole";
type StepNews = "tool-repeat" | "tool-done" | "tool-error";
type Response = "all" | "all and more" | "last step" | "last step and more" | "nothing";

export type Act =
	| { readonly do: Print }
	/** News of one of the steps that run. */
	| { readonly do: StepNews; readonly which: number }
	/** Everything printed so far leaves as one frame; `pass` lets it have its effect. */
	| { readonly do: "frame" | "pass" | "stderr" }
	/** Nothing happens for so long. */
	| { readonly do: "wait"; readonly minutes: number }
	/** pi asks for the next message once its calls are run, or without waiting; the user may have said something. */
	| { readonly do: "pi"; readonly says: boolean; readonly isImpatient: boolean };

export type Ending = "result" | "failed-result" | "abort" | "exit" | "lane-lost" | "silence" | "withheld";

type PlayOptions = {
	/** Other extensions have hooks, which take their time. */
	readonly withHooks: boolean;
	/** The prompt was sent before, to a process that was gone. */
	readonly isRetried: boolean;
	/** What agy started is seen to run. */
	readonly commandsRun: boolean;
};

const just = <T extends string>(...names: T[]) => fc.constantFrom(...names).map((name) => ({ do: name }));

export const anyAct: fc.Arbitrary<Act> = fc.oneof(
	{ weight: 6, arbitrary: just("text", "frame", "pass") },
	{ weight: 3, arbitrary: just("thinking", "model-call", "notice", "unknown", "stderr") },
	{ weight: 4, arbitrary: just("tool-active", "view-active", "subagent-active", "tool-whole") },
	{
		weight: 4,
		arbitrary: fc.record({
			do: fc.constantFrom<StepNews>("tool-repeat", "tool-done", "tool-error"),
			which: fc.nat(3),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.constantFrom(0.1, 0.5, 1, 2, 6) }),
	},
	{
		weight: 5,
		arbitrary: fc.record({
			do: fc.constant("pi" as const),
			says: fc.boolean(),
			isImpatient: fc.nat(9).map((dice) => dice === 0),
		}),
	},
);

export const anyEnding = fc.constantFrom<Ending>(
	...(["result", "result", "failed-result", "abort", "exit", "lane-lost", "silence", "withheld"] as const),
);
export const anyResponse = fc.constantFrom<Response>(
	...(["all", "all and more", "last step", "last step and more", "nothing"] as const),
);

export const EXIT = { exit: { code: 1, signal: null }, laneError: null };
export const LOST = { exit: null, laneError: new AgyError("worker-crashed", "The worker thread crashed.") };

/** A turn whose process was gone: nothing was done, and another turn takes its message over. */
function failedAtOnce(): TurnStage {
	const stage = new TurnStage();
	stage.takesRetry = true;
	stage.link.turns = 2;
	stage.link.end(EXIT);
	return stage;
}

export class TurnPlay {
	/** The turn that is played. */
	readonly stage: TurnStage;
	/** What the user said meanwhile. */
	readonly said: string[] = [];
	/** Outputs of the steps whose end agy printed. */
	readonly outputs: string[] = [];
	/** Steps that ended well and that pi runs again. */
	runAgain = 0;
	/** All text agy printed, in order. */
	expected = "";
	readonly #hooks: { readonly onResponse?: () => Promise<void>; readonly onEvent?: () => Promise<void> };
	readonly #running: (ToolEvent | SubagentEvent)[] = [];
	#frame: AgyEvent[] = [];
	#step = 0;
	#pieceCount = 0;
	#answer = "";
	#lastText = { step: -1, text: "" };

	constructor({ withHooks, isRetried, commandsRun }: PlayOptions) {
		this.#hooks = withHooks ? { onResponse: async () => {}, onEvent: async () => {} } : {};
		this.stage = new TurnStage({}, this.#hooks, isRetried ? failedAtOnce() : null);
		this.stage.nativeTools.add("read");
		this.stage.link.conversationId = "c0ffee";
		// The look takes a while, in which other things happen.
		this.stage.link.runningCommands = () =>
			new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve, commandsRun))));
		this.stage.link.onFollowUp = () => {
			this.#answer = "";
			this.#lastText = { step: -1, text: "" };
			this.#print("text");
			this.printResult("all", "SUCCESS");
		};
	}

	async act(act: Act): Promise<void> {
		switch (act.do) {
			case "frame":
				this.sendFrame();
				return;
			case "pass":
				this.sendFrame();
				return this.stage.pass();
			case "stderr":
				this.sendFrame();
				this.stage.link.send({ kind: "stderr", link: 1, text: "." });
				return;
			case "wait":
				this.sendFrame();
				vi.advanceTimersByTime(act.minutes * 60_000);
				return this.stage.pass();
			case "pi":
				this.sendFrame();
				await this.stage.pass();
				if (this.stage.message.end?.stopReason !== "toolUse") return;
				if ((await this.stage.runCalls()) || act.isImpatient) this.#resume(act.says);
				return;
			case "tool-repeat":
			case "tool-done":
			case "tool-error":
				this.#printNews(act.do, act.which);
				return;
			default:
				this.#print(act.do);
		}
	}

	printResult(response: Response, status: "SUCCESS" | "ERROR"): void {
		const base = response.startsWith("all") ? this.#answer : response.startsWith("last") ? this.#lastText.text : "";
		const more = response.endsWith("more") ? "<more>" : "";
		this.expected += more;
		this.#frame.push(turnEnd({ text: base + more, status, error: status === "ERROR" ? "something new" : "" }));
		this.sendFrame();
	}

	/** The answer of the last step, of which perhaps nothing was printed, as agy's transcript has it. */
	printWithheld(response: Response): void {
		const isPrinted = this.#lastText.step === this.#step && response !== "nothing";
		if (!isPrinted) this.#step++;
		const more = isPrinted && !response.endsWith("more") ? "" : "<withheld>";
		this.expected += more;
		const answer = `${isPrinted ? this.#lastText.text : ""}${more}`;
		this.#frame.push({ kind: "withheld-answer", step: this.#step, text: answer });
		this.sendFrame();
	}

	sendFrame(): void {
		const events = this.#frame;
		this.#frame = [];
		if (events.length > 0) this.stage.link.print(...events);
	}

	/** pi goes on until the turn has told its end; a transcript that is looked at holds no answer. */
	async playOut(): Promise<void> {
		for (let round = 0; round < 200; round++) {
			await this.stage.pass();
			const { end } = this.stage.message;
			if (end && end.stopReason !== "toolUse") return;
			if (end && (await this.stage.runCalls())) this.#resume(false);
			if (this.stage.link.watches.at(-1)) vi.advanceTimersByTime(TRANSCRIPT_LOOKUP_MS); // It brings nothing.
		}
		throw new Error(`The turn does not end: ${this.stage.state}`);
	}

	#print(what: Print): void {
		switch (what) {
			case "text":
				this.#printText(`<${++this.#pieceCount}é>`);
				return;
			case "thinking":
				this.#frame.push(thinking("hm", this.#step));
				return;
			case "model-call":
				this.#frame.push(modelCall(undefined, this.#step++));
				return;
			case "notice":
				this.#frame.push(notice);
				return;
			case "unknown":
				this.#frame.push(unknown);
				return;
			case "tool-active":
			case "view-active":
			case "subagent-active": {
				const step = this.#nextStep();
				const views = what === "view-active" ? { name: "view_file", args: { AbsolutePath: "/a" } } : {};
				const event = what === "subagent-active" ? subagent(step, "active") : tool(step, "active", views);
				this.#running.push(event);
				this.#frame.push(event);
				return;
			}
			case "tool-whole": {
				const step = this.#nextStep();
				this.#frame.push(tool(step, "done", { output: this.#newOutput(step) }));
			}
		}
	}

	#printText(piece: string): void {
		const isSameStep = this.#lastText.step === this.#step;
		this.#lastText = { step: this.#step, text: (isSameStep ? this.#lastText.text : "") + piece };
		this.#answer += piece;
		this.expected += piece;
		this.#frame.push(text(piece, this.#step));
	}

	#printNews(news: StepNews, which: number): void {
		const event = this.#running[which];
		if (!event) return;
		if (news === "tool-repeat") {
			this.#frame.push(event);
			return;
		}
		this.#running.splice(which, 1);
		const isDone = news === "tool-done";
		if (event.kind === "subagent") {
			this.#frame.push(subagent(event.step, isDone ? "done" : "error"));
			return;
		}
		const { name, args, step } = event;
		if (isDone && name === "view_file") {
			this.runAgain++;
			this.#frame.push(tool(step, "done", { name, args, output: "12 lines, 240 bytes" }));
			return;
		}
		const output = this.#newOutput(step);
		this.#frame.push(isDone ? tool(step, "done", { output }) : { ...failedTool(step, output), name, args });
	}

	#newOutput(step: number): string {
		const output = `output of ${step}`;
		this.outputs.push(output);
		return output;
	}

	/** A step of its own, after the text so far and before any more. */
	#nextStep(): number {
		this.#step += 2;
		return this.#step - 1;
	}

	#resume(says: boolean): void {
		const words = says ? `words ${this.said.length};` : null;
		if (words !== null) this.said.push(words);
		this.stage.resume(words ?? "", this.#hooks);
	}
}
