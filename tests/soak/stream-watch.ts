/**
 * Watches every message stream that the process makes, from below pi: each has to end, with one terminal event. pi's own
 * stream drops what comes after its end, so a second end would be seen nowhere else.
 */
import { type AssistantMessageEvent, createAssistantMessageEventStream } from "@earendil-works/pi-ai";

type Stream = ReturnType<typeof createAssistantMessageEventStream>;

export class StreamWatch {
	readonly #open = new Map<Stream, number>();
	readonly #ended = new WeakSet<Stream>();
	#secondEnds = 0;
	count = 0;

	constructor() {
		const prototype = Object.getPrototypeOf(createAssistantMessageEventStream()) as Stream;
		const push = prototype.push;
		const note = (stream: Stream, event: AssistantMessageEvent) => this.#note(stream, event);
		prototype.push = function (this: Stream, event: AssistantMessageEvent) {
			note(this, event);
			return push.call(this, event);
		};
	}

	/** Ends after the end, since the last call. */
	takeSecondEnds(): number {
		const ends = this.#secondEnds;
		this.#secondEnds = 0;
		return ends;
	}

	/** Streams that have begun and not ended. */
	get open(): number {
		return this.#open.size;
	}

	#note(stream: Stream, event: AssistantMessageEvent): void {
		const isEnd = event.type === "done" || event.type === "error";
		if (this.#ended.has(stream)) {
			if (isEnd) this.#secondEnds++;
			return;
		}
		if (!this.#open.has(stream)) {
			this.#open.set(stream, performance.now());
			this.count++;
		}
		if (!isEnd) return;
		this.#ended.add(stream);
		this.#open.delete(stream);
	}
}
