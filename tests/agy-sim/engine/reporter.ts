/**
 * Where a session's events go: every line in stream-json, the bare result in json, the answer alone in text.
 */
import {
	type InitFields,
	initEvent,
	type ResultFields,
	resultEvent,
	resultPayload,
	type StepFields,
	stepEvent,
	toJsonLine,
} from "../wire/envelopes.ts";
import type { Simulation } from "./simulation.ts";

export type Reporter = {
	init(conversationId: string, init: InitFields): Promise<void>;
	step(conversationId: string, step: StepFields): Promise<void>;
	/** An event of the scenario's own making. */
	event(event: unknown): Promise<void>;
	raw(bytes: string | Uint8Array): Promise<void>;
	result(result: ResultFields): Promise<void>;
};

export function makeReporter(simulation: Simulation, output: "text" | "json" | "stream-json"): Reporter {
	const { stdout, behaviour } = simulation;
	const print = (value: unknown) => stdout.writeLine(toJsonLine(value, behaviour.escapeHtml));
	const skip = async () => {};
	switch (output) {
		case "stream-json":
			return {
				init: (id, init) => print(initEvent(id, init, behaviour.initConversationId)),
				step: (id, step) => print(stepEvent(id, step)),
				event: print,
				raw: (bytes) => stdout.write(bytes),
				result: (result) => print(resultEvent(result)),
			};
		case "json":
			return { init: skip, step: skip, event: skip, raw: skip, result: (result) => print(resultPayload(result)) };
		case "text":
			return { init: skip, step: skip, event: skip, raw: skip, result: (result) => printText(simulation, result) };
	}
}

async function printText(simulation: Simulation, result: ResultFields): Promise<void> {
	if (result.response === "") return;
	await simulation.stdout.write(result.response.endsWith("\n") ? result.response : `${result.response}\n`);
}
