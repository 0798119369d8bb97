/**
 * Which agy conversation belongs to which pi session, kept in sessions.json across restarts of pi. A conversation is
 * bound to the engine that made it and the workspace it was born in; elsewhere it does not exist.
 */

import type { JsonObject, JsonValue } from "../shared/events.ts";
import type { JsonStore } from "./json-store.ts";

export type SessionKey = { readonly sessionId: string; readonly engineId: string; readonly cwd: string };

type Binding = { readonly conversationId: string; readonly cwd: string; readonly boundAtMs: number };

/** Old bindings are of no use: pi sessions are rarely taken up after this many others. */
const MAX_BINDINGS = 500;

export class SessionBindings {
	readonly #store: JsonStore;
	readonly #onError: (error: unknown) => void;
	/** What this process bound or unbound; wins over the file. */
	readonly #own = new Map<string, Binding | null>();

	constructor(store: JsonStore, onError: (error: unknown) => void) {
		this.#store = store;
		this.#onError = onError;
	}

	/** The conversation to go on with, or null for a fresh one. */
	async find(key: SessionKey): Promise<string | null> {
		const own = this.#own.get(nameOf(key));
		const binding = own === undefined ? toBindings(await this.#store.read()).get(nameOf(key)) : own;
		return binding && binding.cwd === key.cwd ? binding.conversationId : null;
	}

	bind(key: SessionKey, conversationId: string): void {
		const own = this.#own.get(nameOf(key));
		if (own?.conversationId === conversationId && own.cwd === key.cwd) return;
		this.#set(key, { conversationId, cwd: key.cwd, boundAtMs: Date.now() });
	}

	/** The conversation is lost or spoilt: the next turn starts a fresh one. */
	unbind(key: SessionKey): void {
		this.#set(key, null);
	}

	async settled(): Promise<void> {
		await this.#store.settled();
	}

	#set(key: SessionKey, binding: Binding | null): void {
		this.#own.set(nameOf(key), binding);
		this.#store
			.update((file) => ({ ...file, version: 1, sessions: withBinding(file, nameOf(key), binding) }))
			.catch(this.#onError);
	}
}

function nameOf({ engineId, sessionId }: SessionKey): string {
	return `${engineId}:${sessionId}`;
}

function withBinding(file: JsonObject, name: string, binding: Binding | null): JsonValue {
	const bindings = toBindings(file);
	bindings.delete(name);
	if (binding) bindings.set(name, binding);
	const newestFirst = [...bindings].sort(([, a], [, b]) => b.boundAtMs - a.boundAtMs);
	return Object.fromEntries(newestFirst.slice(0, MAX_BINDINGS));
}

/** The usable bindings of the file; an entry of another shape is not one. */
function toBindings(file: JsonObject): Map<string, Binding> {
	const bindings = new Map<string, Binding>();
	const entries = file.sessions;
	if (typeof entries !== "object" || entries === null) return bindings;
	for (const [name, value] of Object.entries(entries)) {
		const { conversationId, cwd, boundAtMs } = (value ?? {}) as { readonly [key: string]: unknown };
		if (typeof conversationId !== "string" || typeof cwd !== "string") continue;
		bindings.set(name, { conversationId, cwd, boundAtMs: typeof boundAtMs === "number" ? boundAtMs : 0 });
	}
	return bindings;
}
