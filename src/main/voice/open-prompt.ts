/**
 * Whether a dialog of an extension has pi's keys and editor. pi puts the editor back as it was before when such a dialog
 * closes: what is written into it meanwhile is lost.
 */
export class OpenPrompt {
	#closing: PromiseWithResolvers<void> | null = null;

	get isOpen(): boolean {
		return this.#closing !== null;
	}

	opened(): void {
		this.#closing ??= Promise.withResolvers();
	}

	closed(): void {
		this.#closing?.resolve();
		this.#closing = null;
	}

	/** Resolves when none is open. */
	async gone(): Promise<void> {
		while (this.#closing !== null) await this.#closing.promise;
	}
}
