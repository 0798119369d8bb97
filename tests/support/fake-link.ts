/**
 * A link for the tests of a turn: takes prompts, and delivers what the test lets agy print the way main/link.ts does: in
 * order, one message at a time, the next one only when the consumer is done, the end after everything else.
 */
import type { LinkMessage } from "../../src/main/lanes.ts";
import type { Link, LinkConsumer, LinkEnd } from "../../src/main/link.ts";
import type { AgyEvent } from "../../src/shared/events.ts";

export class FakeLink {
	readonly prompts: string[] = [];
	readonly followUps: string[] = [];
	/** Where the transcript was asked to be looked at, and behind which step; null once it is not any more. */
	readonly watches: ({ readonly path: string; readonly afterStep: number } | null)[] = [];
	conversationId: string | null = null;
	model = "";
	stderrTail = "";
	turns = 0;
	/** What the look at agy's processes comes to. */
	runningCommands: () => boolean | Promise<boolean> = () => false;
	/** Called with each further prompt of the turn, after it was taken. */
	onFollowUp: () => void = () => {};
	#consumer: LinkConsumer | null = null;
	#queue: LinkMessage[] = [];
	#isDelivering = false;
	#isHeldBack = false;
	#end: LinkEnd | null = null;

	/** What a turn gets: it uses no more of a link than is here. */
	get asLink(): Link {
		return this as unknown as Link;
	}

	/** The consumer is not done with a message, so the process is held back. */
	get isHeldBack(): boolean {
		return this.#isHeldBack;
	}

	submit(text: string, consumer: LinkConsumer): void {
		this.prompts.push(text);
		this.turns++;
		this.#consumer = consumer;
		this.#deliver();
	}

	submitMore(text: string): void {
		this.followUps.push(text);
		this.onFollowUp();
	}

	watchTranscript(path: string, afterStep: number): void {
		this.watches.push({ path, afterStep });
	}

	unwatchTranscript(): void {
		this.watches.push(null);
	}

	async hasRunningCommands(): Promise<boolean> {
		return this.runningCommands();
	}

	/** The turn is over. */
	release(): void {
		this.#consumer = null;
		this.#queue = [];
	}

	/** agy prints; the events travel as one message. */
	print(...events: readonly AgyEvent[]): void {
		this.send({ kind: "events", link: 1, bytes: 100, events });
	}

	send(message: LinkMessage): void {
		this.#queue.push(message);
		this.#deliver();
	}

	end(end: LinkEnd): void {
		this.#end ??= end;
		this.#deliver();
	}

	#deliver(): void {
		if (this.#isDelivering || this.#isHeldBack || !this.#consumer) return;
		this.#isDelivering = true;
		for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
			const pending = this.#consumer.receive(next);
			if (!pending) continue;
			this.#isHeldBack = true;
			const goOn = () => {
				this.#isHeldBack = false;
				this.#deliver();
			};
			pending.then(goOn, goOn);
			break;
		}
		this.#isDelivering = false;
		if (!this.#end || this.#isHeldBack) return;
		const consumer = this.#consumer;
		this.#consumer = null;
		consumer.ended(this.#end);
	}
}
