/**
 * One turn while it runs: what its steps have said, used and failed at so far. Steps print through it, so that indices,
 * figures and the transcript stay right whatever the script does.
 */
import type { StepDetail } from "../database/recorder.ts";
import { Pace } from "../process/pace.ts";
import type { DeniedAction, StepFields } from "../wire/envelopes.ts";
import { addUsage, modelCallUsage, NO_USAGE, type Usage, type UsageFigures } from "../wire/usage.ts";
import type { TranscriptRow } from "./conversation.ts";
import { fillDeep, fillPlaceholders } from "./placeholders.ts";
import type { Session } from "./session.ts";

/** What a step leaves the turn to do. */
export type StepOutcome = "go-on" | "end-turn";

export type TurnFailure = {
	readonly error: string;
	/** The process leaves with this code after the result. */
	readonly exitCode: number | undefined;
};

export class TurnRun {
	readonly session: Session;
	readonly prompt: string;
	readonly signal: AbortSignal;
	readonly pace: Pace;
	readonly deniedActions: DeniedAction[] = [];
	/** The text of each model call that said something. */
	readonly answers: string[] = [];
	usage: Usage = NO_USAGE;
	lastToolError: string | undefined;
	failure: TurnFailure | undefined;

	constructor(session: Session, prompt: string, signal: AbortSignal) {
		this.session = session;
		this.prompt = prompt;
		this.signal = signal;
		const { settings, scenario } = session.simulation;
		this.pace = new Pace(settings.tokensPerSecond ?? scenario.tokensPerSecond ?? 0);
	}

	get response(): string {
		const { response } = this.session.simulation.behaviour;
		return response === "last-step" ? (this.answers.at(-1) ?? "") : this.answers.join("");
	}

	fill<T>(value: T): T {
		return fillDeep(value, (template) => fillPlaceholders(template, this.session, this.prompt));
	}

	takeStepIndex(): number {
		return this.session.conversation.takeStepIndex();
	}

	/** The database knows of a step before the stream does. */
	async step(fields: StepFields, detail: StepDetail = {}): Promise<void> {
		this.signal.throwIfAborted();
		if (fields.durationSeconds !== undefined) this.session.conversation.addSeconds(fields.durationSeconds);
		await this.session.database?.onStep(fields, detail);
		await this.session.reporter.step(this.session.conversation.id, fields);
	}

	/** The usage of one model call, counted for the turn and the conversation. */
	spendModelCall(text: string, figures: UsageFigures | undefined): Usage {
		const { conversation } = this.session;
		const usage = modelCallUsage(conversation.record.modelCalls === 0, text, figures);
		this.usage = addUsage(this.usage, usage);
		conversation.addModelCall(usage);
		return usage;
	}

	/** Usage with exactly these figures, for steps that are no model call. */
	spend(usage: Usage): Usage {
		this.usage = addUsage(this.usage, usage);
		this.session.conversation.addModelCall(usage);
		return usage;
	}

	transcribe(stepIndex: number, row: TranscriptRow): void {
		this.session.conversation.addTranscriptRow(stepIndex, row);
	}
}
