/**
 * The bridged calls of one turn, on their way into a pi message. agy makes the calls of one step side by side, so they
 * are gathered: until there are as many as agy has announced on its stream, or no further one comes for a moment. The
 * announcement also comes behind the text that agy wrote before the call, which has to stand before it in the message.
 */

import type { ToolEvent } from "../../shared/events.ts";
import { ANSWERED_BY_BRIDGE } from "./catalog.ts";
import type { ParkedCall } from "./parked-calls.ts";

/** agy's name for a call of an MCP tool. */
export const MCP_CALL = "call_mcp_tool";
/** Calls of one step arrive within milliseconds; what agy prints takes up to a display frame to get here. */
const GATHER_MS = 50;

export class BridgeCalls {
	readonly #onGathered: () => void;
	#waiting: ParkedCall[] = [];
	/** Steps of calls that agy has announced and not made yet, as far as is known. */
	readonly #announced = new Set<number>();
	/** In the message that pi runs. */
	readonly #running = new Set<string>();
	#timer: NodeJS.Timeout | undefined;

	/** `onGathered` takes the calls, or leaves them for `check`. */
	constructor(onGathered: () => void) {
		this.#onGathered = onGathered;
	}

	owns(callId: string): boolean {
		return this.#running.has(callId);
	}

	add(call: ParkedCall): void {
		this.#waiting.push(call);
		this.check();
	}

	/** agy's stream tells of a call's step, or of what belongs to one. */
	announce({ name, args, step, state }: ToolEvent): void {
		if (name !== MCP_CALL || ANSWERED_BY_BRIDGE.has(String(args.ToolName))) return;
		if (state === "active") this.#announced.add(step);
		else this.#announced.delete(step);
		this.check();
	}

	/** Whether the calls that wait are complete. */
	check(): void {
		clearTimeout(this.#timer);
		if (this.#waiting.length === 0) return;
		if (this.#announced.size === this.#waiting.length) this.#onGathered();
		else this.#timer = setTimeout(this.#onGathered, GATHER_MS);
	}

	/** They are put into a message. */
	takeWaiting(): readonly ParkedCall[] {
		const calls = this.#waiting;
		this.#waiting = [];
		this.#announced.clear();
		for (const { id } of calls) this.#running.add(id);
		return calls;
	}

	/** pi has run the calls of the message. */
	release(): void {
		this.#running.clear();
	}

	/** The turn is over. */
	stop(): void {
		clearTimeout(this.#timer);
		for (const { drop } of this.#waiting.splice(0)) drop?.();
	}
}
