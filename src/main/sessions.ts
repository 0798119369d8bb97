/**
 * Which agy conversation belongs to which pi session, and what it has been told; kept in sessions.json across restarts of
 * pi. A conversation is bound to the engine that made it and the workspace it was born in; elsewhere it does not exist.
 */

import type { JsonObject, JsonValue, TokenUsage } from "../shared/events.ts";
import type { Told } from "./history.ts";
import type { JsonStore } from "./json-store.ts";

export type SessionKey = { readonly sessionId: string; readonly engineId: string; readonly cwd: string };

export type Binding = {
	readonly conversationId: string;
	readonly told: Told;
	/** What the user said while a turn ran that failed before it could be handed over; goes with the next prompt. */
	readonly undelivered: readonly string[];
	/** Hash of the instructions that went with a prompt; "" when none did. */
	readonly instructions: string;
	/** agy's counters at the last result, to take the next one's difference from; null when unknown. */
	readonly usage: TokenUsage | null;
};

type Stored = Binding & { readonly cwd: string; readonly boundAtMs: number };

/** A session's conversation as it is written down. */
export type BoundConversation = {
	readonly conversationId: string;
	readonly engineId: string;
	readonly sessionId: string;
	readonly cwd: string;
	readonly boundAtMs: number;
	/** What the user calls it; "" for no name. */
	readonly name: string;
};

/** Old bindings are of no use: pi sessions are rarely taken up after this many others. */
const MAX_BINDINGS = 500;

export class SessionBindings {
	readonly #store: JsonStore;
	readonly #onError: (error: unknown) => void;
	/** What this process bound or unbound; wins over the file. */
	readonly #own = new Map<string, Stored | null>();
	readonly #unsaved = new Set<string>();
	#isSaving = false;

	constructor(store: JsonStore, onError: (error: unknown) => void) {
		this.#store = store;
		this.#onError = onError;
	}

	/** The conversation to go on with, or null for a fresh one. */
	async find(key: SessionKey): Promise<Binding | null> {
		const own = this.#own.get(nameOf(key));
		const binding = own === undefined ? toBindings(await this.#store.read()).get(nameOf(key)) : own;
		return binding && binding.cwd === key.cwd ? binding : null;
	}

	bind(key: SessionKey, binding: Binding): void {
		this.#set(key, { ...binding, cwd: key.cwd, boundAtMs: Date.now() });
	}

	/** The conversation is lost or spoilt: the next turn starts a fresh one. */
	unbind(key: SessionKey): void {
		this.#set(key, null);
	}

	/** Every session's conversation, newest first. */
	async all(): Promise<readonly BoundConversation[]> {
		await this.#store.settled();
		const file = await this.#store.read();
		const names = toNames(file);
		const bindings: ReadonlyMap<string, Stored | null> = new Map<string, Stored | null>([
			...toBindings(file),
			...this.#own,
		]);
		return [...bindings]
			.flatMap(([key, binding]) => {
				const colon = key.indexOf(":");
				if (binding === null || colon === -1) return [];
				const { conversationId, cwd, boundAtMs } = binding;
				const [engineId, sessionId] = [key.slice(0, colon), key.slice(colon + 1)];
				return { conversationId, engineId, sessionId, cwd, boundAtMs, name: names[conversationId] ?? "" };
			})
			.toSorted((a, b) => b.boundAtMs - a.boundAtMs);
	}

	/** "" takes the name away. Throws when it cannot be written down. */
	async rename(conversationId: string, name: string): Promise<void> {
		await this.#store.update((file) => {
			const { [conversationId]: _old, ...others } = toNames(file);
			return { ...file, names: name === "" ? others : { ...others, [conversationId]: name } };
		});
	}

	/** Resolves when all is written down, or the last try to do so has failed. */
	async settled(): Promise<void> {
		await this.#store.settled();
		if (this.#unsaved.size > 0) this.#save();
		await this.#store.settled();
	}

	#set(key: SessionKey, binding: Stored | null): void {
		this.#own.set(nameOf(key), binding);
		this.#unsaved.add(nameOf(key));
		this.#save();
	}

	/** Changes that come while a write is under way go with the next one. */
	#save(): void {
		if (this.#isSaving) return;
		this.#isSaving = true;
		let names: readonly string[] = [];
		this.#store
			.update((file) => {
				names = [...this.#unsaved];
				this.#unsaved.clear();
				this.#isSaving = false;
				return this.#merge(file, names);
			})
			.catch((error: unknown) => {
				for (const name of names) this.#unsaved.add(name); // They go with the next change, or at the end.
				this.#isSaving = false;
				this.#onError(error);
			});
	}

	#merge(file: JsonObject, names: readonly string[]): JsonObject {
		const bindings = toBindings(file);
		for (const name of names) {
			const binding = this.#own.get(name);
			bindings.delete(name);
			if (binding) bindings.set(name, binding);
		}
		const newestFirst = [...bindings].sort(([, a], [, b]) => b.boundAtMs - a.boundAtMs).slice(0, MAX_BINDINGS);
		const named = new Set(newestFirst.map(([, { conversationId }]) => conversationId));
		const labels = Object.entries(toNames(file)).filter(([conversationId]) => named.has(conversationId));
		const { names: _names, ...others } = file;
		return {
			...others,
			version: 1,
			sessions: Object.fromEntries(newestFirst) as unknown as JsonValue,
			...(labels.length > 0 && { names: Object.fromEntries(labels) }),
		};
	}
}

function nameOf({ engineId, sessionId }: SessionKey): string {
	return `${engineId}:${sessionId}`;
}

function toNames(file: JsonObject): Readonly<Record<string, string>> {
	const entries = Object.entries(typeof file.names === "object" && file.names !== null ? file.names : {});
	return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** The usable bindings of the file; an entry of another shape is not one. */
function toBindings(file: JsonObject): Map<string, Stored> {
	const bindings = new Map<string, Stored>();
	const entries = file.sessions;
	if (typeof entries !== "object" || entries === null) return bindings;
	for (const [name, value] of Object.entries(entries)) {
		const entry = (value ?? {}) as Partial<Stored>;
		if (typeof entry.conversationId !== "string" || typeof entry.cwd !== "string" || !isTold(entry.told)) continue;
		bindings.set(name, {
			conversationId: entry.conversationId,
			cwd: entry.cwd,
			told: entry.told,
			undelivered: Array.isArray(entry.undelivered) ? entry.undelivered.filter((text) => typeof text === "string") : [],
			instructions: typeof entry.instructions === "string" ? entry.instructions : "",
			usage: isUsage(entry.usage) ? entry.usage : null,
			boundAtMs: typeof entry.boundAtMs === "number" ? entry.boundAtMs : 0,
		});
	}
	return bindings;
}

function isTold(value: unknown): value is Told {
	const told = value as Partial<Told> | null | undefined;
	return typeof told?.count === "number" && typeof told.hash === "string";
}

function isUsage(value: unknown): value is TokenUsage {
	const usage = value as Partial<TokenUsage> | null | undefined;
	return [usage?.input, usage?.output, usage?.thinking, usage?.cacheRead].every((count) => typeof count === "number");
}
