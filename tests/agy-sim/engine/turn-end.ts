/**
 * The result line and everything said around it: figures of the conversation, denials, API failures, and turns that were
 * stopped or dropped. Each way to end returns whether the process has to leave, and with which code.
 */
import { structuredAnswer } from "../command-line/answer-schema.ts";
import { formatGoDuration } from "../command-line/go-duration.ts";
import type { ResultOverride } from "../scenario/scenario.ts";
import type { ResultFields } from "../wire/envelopes.ts";
import { NO_USAGE, toUsage, type Usage } from "../wire/usage.ts";
import { effectivePrintTimeoutMs } from "./print-timeout.ts";
import type { TurnRun } from "./turn-run.ts";
import type { TurnStop } from "./turn-stop.ts";

export type TurnEnd = {
	/** The process leaves with this code; undefined when the session goes on. */
	readonly exitCode: number | undefined;
	/** Exit code of a run that has only this turn. */
	readonly oneShotExitCode: number;
};

const FRAME_SECONDS = 0.05;
const DROPPED_SECONDS = 0.2;

export async function endTurn(run: TurnRun, override: ResultOverride): Promise<TurnEnd> {
	const { behaviour } = run.session.simulation;
	const wasDenied = run.deniedActions.length > 0;
	const error = override.error ?? run.failure?.error ?? (behaviour.toolErrorFailsTurn ? run.lastToolError : undefined);
	const response = override.response === undefined ? run.response : run.fill(override.response);
	const status = override.status ?? (error !== undefined ? "ERROR" : wasDenied ? behaviour.deniedRunStatus : "SUCCESS");
	if (wasDenied && response === "") await writeDenialNote(run);
	if (override.omit === true) return { exitCode: override.exitCode, oneShotExitCode: 0 };

	const isStructured = run.session.schema !== undefined && status === "SUCCESS" && !wasDenied;
	await sendResult(run, FRAME_SECONDS, {
		status,
		response,
		error,
		usage: overriddenUsage(run, override),
		structuredOutput:
			override.structuredOutput ??
			(isStructured && run.session.schema ? structuredAnswer(run.session.schema, response) : undefined),
		deniedActions: behaviour.listsDeniedActions ? run.deniedActions : undefined,
		extra: override.extra,
	});
	const exitCode = override.exitCode ?? run.failure?.exitCode;
	return { exitCode, oneShotExitCode: exitCode ?? (run.failure !== undefined ? 1 : 0) };
}

export async function endStopped(run: TurnRun, stop: TurnStop): Promise<TurnEnd> {
	const { simulation } = run.session;
	const { behaviour } = simulation;
	if (stop.why === "interrupted") {
		const usage = behaviour.interruptUsage === "zero" ? NO_USAGE : undefined;
		await sendResult(run, 0, { status: "ERROR", response: "", error: "interrupted", usage });
		await simulation.writeError("interrupted");
		return { exitCode: 1, oneShotExitCode: 1 };
	}
	const usage = behaviour.printTimeoutUsage === "zero" ? NO_USAGE : undefined;
	simulation.log("Print mode: timed out");
	if (behaviour.printTimeout === "error") {
		await sendResult(run, 0, { status: "ERROR", response: "", error: "timeout waiting for response", usage });
	} else if (run.failure !== undefined) {
		await sendResult(run, 0, { status: "ERROR", response: run.response, error: run.failure.error, usage });
	} else {
		const after = formatGoDuration(effectivePrintTimeoutMs(run.session));
		await simulation.writeStderr(`[agy] print timeout after ${after} with turn in progress; returning partial output`);
		await sendResult(run, 0, { status: "SUCCESS", response: run.response, usage });
	}
	return { exitCode: 0, oneShotExitCode: 0 };
}

/** The prompt was too large: nothing happens, success is reported, and the conversation never answers again. */
export async function endDropped(run: TurnRun): Promise<TurnEnd> {
	run.session.conversation.markDead();
	await sendResult(run, DROPPED_SECONDS, { status: "SUCCESS", response: "", usage: NO_USAGE });
	return { exitCode: undefined, oneShotExitCode: 0 };
}

type ResultParts = Omit<ResultFields, "conversationId" | "durationSeconds" | "numTurns" | "usage"> & {
	/** Default: the sum over the conversation. */
	readonly usage?: Usage | undefined;
};

async function sendResult(run: TurnRun, seconds: number, parts: ResultParts): Promise<void> {
	const { conversation, reporter, schema } = run.session;
	conversation.addSeconds(seconds);
	conversation.endTurn(run.prompt, parts.response);
	const { durationSeconds, numTurns, usage } = conversation.record;
	await reporter.result({
		...parts,
		conversationId: conversation.id,
		durationSeconds,
		numTurns,
		usage: parts.usage ?? usage,
		jsonSchema: schema,
	});
}

function overriddenUsage(run: TurnRun, override: ResultOverride): Usage | undefined {
	if (override.exactUsage !== undefined) return toUsage(override.exactUsage);
	if (override.usage === "zero") return NO_USAGE;
	return override.usage === "turn" ? run.usage : undefined;
}

async function writeDenialNote(run: TurnRun): Promise<void> {
	const action = run.deniedActions[0]?.action ?? "";
	await run.session.simulation.writeStderr(
		`jetski: no output produced — a tool required the "${action}" permission that headless mode cannot prompt for, ` +
			"so it was auto-denied.",
	);
}
