/** What the steps of one turn left in files, for their cards: the diff of an edit, the images that were made. */

import type { ImageContent } from "@earendil-works/pi-ai";
import type { ToolEvent } from "../../shared/events.ts";
import { EditDiffs, editedFile } from "./edit-diffs.ts";
import { GitHead, type RunGit } from "./git-head.ts";
import { GeneratedImages, IMAGE_TOOL } from "./step-images.ts";

/** What a card shows beside agy's own words; `diff` in pi's form, null when there is none. */
export type StepView = {
	readonly summary: string;
	readonly diff: string | null;
	readonly images: readonly ImageContent[];
};

export type StepFilesOptions = {
	/** Where agy works. */
	readonly cwd: string;
	readonly runGit: RunGit;
	/** The folder in which agy keeps what it made in a conversation. */
	readonly brainDir: (conversationId: string) => string;
};

export class StepFiles {
	readonly #options: StepFilesOptions;
	readonly #startedMs = Date.now();
	readonly #edits: EditDiffs;
	readonly #images = new GeneratedImages();
	/** When a step was first seen. */
	readonly #seenMs = new Map<number, number>();
	readonly #views = new Map<number, Promise<StepView>>();

	/** To be made when the turn begins: git is asked then what the repository is like. */
	constructor(options: StepFilesOptions) {
		const { cwd, runGit } = options;
		this.#options = options;
		this.#edits = new EditDiffs({ cwd, head: new GitHead(cwd, runGit), startedMs: this.#startedMs });
	}

	/**
	 * A step has begun or ended; to be told at once, and as often as there is news of it. Resolves when what stood there is
	 * read, which nobody has to wait for. Does not fail.
	 */
	note(event: ToolEvent, conversationId: string): Promise<void> {
		const { step } = event;
		if (this.#views.has(step)) return Promise.resolve();
		const path = editedFile(event, this.#options.cwd);
		const looked = path === null ? Promise.resolve() : this.#edits.seen(path);
		this.#noteEnd(event, path, conversationId);
		return looked;
	}

	#noteEnd(event: ToolEvent, path: string | null, conversationId: string): void {
		const { step, state } = event;
		const seenMs = this.#seenMs.get(step) ?? Date.now() - (event.durationMs ?? 0);
		this.#seenMs.set(step, seenMs);
		if (state !== "done" || event.error) return;
		if (path !== null) {
			this.#views.set(
				step,
				this.#edits.ended(path).then((edit) => ({ ...edit, images: [] })),
			);
		} else if (event.name === IMAGE_TOOL && /^[\w-]+$/.test(conversationId)) {
			const folder = this.#options.brainDir(conversationId);
			const collected = this.#images.collect(folder, Math.max(seenMs, this.#startedMs));
			this.#views.set(
				step,
				collected.then((made) => ({ ...made, diff: null })),
			);
		}
	}

	/** What there is to show of a step that has ended; null when there is nothing. Does not fail. */
	viewOf(step: number): Promise<StepView> | null {
		return this.#views.get(step) ?? null;
	}
}
