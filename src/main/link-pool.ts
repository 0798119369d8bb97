/**
 * The pool of links, shared by all pi sessions of the process. It decides which process a turn runs on: the session's
 * own idle one when its profile and conversation still fit, else a new one that resumes the conversation. One process
 * per conversation: a new one waits until the old one is gone.
 */

import { AgyError } from "../shared/errors.ts";
import { LINK_IDLE_MS, MAX_IDLE_LINKS, MAX_RUNNING_LINKS } from "../shared/limits.ts";
import type { ConversationLocks } from "./conversation-locks.ts";
import type { LanePool } from "./lanes.ts";
import { Link, type LinkSpec } from "./link.ts";
import type { LogWriter } from "./log.ts";
import type { ProcessRegistry } from "./processes/registry.ts";

export type AcquireOptions = {
	readonly signal: AbortSignal;
	/** Called once when all processes are busy and the turn has to wait. */
	readonly onWait: () => void;
};

export type LinkPoolOptions = {
	readonly lanes: LanePool;
	readonly registry: ProcessRegistry;
	readonly locks: ConversationLocks;
	/** Settles when the leftovers of killed pi processes are gone; nothing starts before. */
	readonly swept: Promise<unknown>;
	readonly log: LogWriter;
};

export class LinkPool {
	readonly #lanes: LanePool;
	readonly #registry: ProcessRegistry;
	readonly #locks: ConversationLocks;
	readonly #swept: Promise<unknown>;
	readonly #log: LinkPoolOptions["log"];
	readonly #links = new Set<Link>();
	readonly #waiting: (() => void)[] = [];
	/** One for each link: settles when its process is gone and its conversations are unlocked. */
	readonly #endings = new Set<Promise<void>>();
	readonly #idleTimer: NodeJS.Timeout;
	#opening = 0;
	#isClosed = false;
	/** Processes ended by the pool, by cause. */
	readonly recycles = { profile: 0, conversation: 0, idle: 0, crowded: 0 };
	/** Processes started, and turns that got one which had run before. */
	readonly uses = { started: 0, reused: 0 };

	constructor({ lanes, registry, locks, swept, log }: LinkPoolOptions) {
		this.#lanes = lanes;
		this.#registry = registry;
		this.#locks = locks;
		this.#swept = swept;
		this.#log = log;
		this.#idleTimer = setInterval(() => this.#closeIdle(), LINK_IDLE_MS / 10);
		this.#idleTimer.unref();
	}

	get links(): readonly Link[] {
		return [...this.#links];
	}

	/**
	 * A link for one turn. Throws what opening one throws, `cancelled` when `signal` aborts first, and
	 * `conversation-busy` when another pi process is on the conversation.
	 */
	async acquire(spec: LinkSpec, options: AcquireOptions): Promise<Link> {
		await this.#swept;
		const own = spec.sessionId === null ? undefined : this.#idleLinkOf(spec.sessionId);
		if (own) {
			const misfit = misfitOf(own, spec);
			if (!misfit) {
				own.reserve();
				this.uses.reused++;
				return own;
			}
			this.recycles[misfit]++;
			this.#log("info", `agy ${own.pid} is recycled: another ${misfit}`, {
				event: "recycle",
				pid: own.pid,
				cause: misfit,
			});
			void own.close();
		}
		await this.#waitForRoom(options);
		await this.#waitForConversation(spec);
		if (options.signal.aborted) throw new AgyError("cancelled", "Cancelled before agy was started.");
		if (this.#isClosed) throw new AgyError("lane-down", "pi-agy is shut down.");
		await this.#lockConversation(spec.conversationId);
		const locked = new Set(spec.conversationId === null ? [] : [spec.conversationId]);
		this.#opening++;
		try {
			const link = await Link.open(spec, this.#lanes.nextLinkId(), this.#lanes, this.#registry, (conversationId) =>
				this.#lockNamed(conversationId, locked),
			);
			this.#keep(link, locked);
			if (this.#isClosed) await link.close();
			return link;
		} catch (error) {
			await this.#unlock(locked);
			throw error;
		} finally {
			this.#opening--;
			this.#admitNext();
		}
	}

	#keep(link: Link, locked: ReadonlySet<string>): void {
		const { engine, profile, conversationId } = link.spec;
		this.uses.started++;
		this.#log(
			"info",
			`agy ${link.pid} is started, read by thread ${link.laneThreadId}: ${[profile.bin, ...engine.args(profile, conversationId, "…")].join(" ")}`,
			{ event: "spawn", pid: link.pid, model: profile.modelSlug, resumes: conversationId !== null },
		);
		this.#links.add(link);
		const over = link.closed.then(async () => {
			const { code = null, signal = null } = link.exit ?? {};
			this.#log("info", `agy ${link.pid} is gone: ${signal ?? `exit code ${code ?? "unknown"}`}`, {
				event: "exit",
				pid: link.pid,
				code,
				signal,
			});
			this.#links.delete(link);
			this.#admitNext();
			await this.#unlock(locked).catch((error: unknown) => this.#log("error", `conversation lock: ${String(error)}`));
			this.#endings.delete(over);
		});
		this.#endings.add(over);
	}

	/** agy made the conversation just now: nobody else can be on it, so a disk that takes no lock does no harm. */
	#lockNamed(conversationId: string, locked: Set<string>): void {
		if (locked.has(conversationId)) return;
		locked.add(conversationId);
		this.#locks.acquire(conversationId).catch(() => locked.delete(conversationId));
	}

	async #unlock(locked: ReadonlySet<string>): Promise<void> {
		for (const conversationId of locked) await this.#locks.release(conversationId);
	}

	/** The turn is over. A link of a side request is closed, one of a session is kept for its next turn. */
	release(link: Link): void {
		link.release();
		if (link.spec.sessionId === null || link.spec.engine.isOneShot) void link.close();
		this.#closeCrowded();
		this.#admitNext();
	}

	/** Ends the links of one session. Resolves when their processes are gone. */
	async closeSession(sessionId: string): Promise<void> {
		await Promise.all(this.links.filter((link) => link.spec.sessionId === sessionId).map((link) => link.close()));
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		clearInterval(this.#idleTimer);
		for (const admit of this.#waiting.splice(0)) admit();
		for (const link of this.links) void link.close();
		await Promise.all(this.#endings);
	}

	#idleLinkOf(sessionId: string): Link | undefined {
		return this.links.find((link) => link.state === "idle" && link.spec.sessionId === sessionId);
	}

	async #waitForRoom(options: AcquireOptions): Promise<void> {
		if (!this.#isFull()) return;
		options.onWait();
		while (this.#isFull() && !options.signal.aborted && !this.#isClosed) {
			await new Promise<void>((resolve) => {
				this.#waiting.push(resolve);
				options.signal.addEventListener("abort", () => resolve(), { once: true });
			});
		}
	}

	/** A process that is on its way out still holds its conversation. */
	async #waitForConversation({ conversationId, sessionId }: LinkSpec): Promise<void> {
		if (conversationId === null) return;
		const holders = this.links.filter((link) => link.conversationId === conversationId);
		if (holders.some((link) => link.state === "running" && link.spec.sessionId !== sessionId)) {
			throw new AgyError("conversation-busy", "Another session of this pi is working on this conversation.");
		}
		await Promise.all(holders.map((link) => link.close()));
	}

	async #lockConversation(conversationId: string | null): Promise<void> {
		if (conversationId === null || (await this.#locks.acquire(conversationId))) return;
		throw new AgyError("conversation-busy", "Another pi process is working on this conversation.");
	}

	#isFull(): boolean {
		return this.#opening + this.links.filter((link) => link.state !== "idle").length >= MAX_RUNNING_LINKS;
	}

	#admitNext(): void {
		if (!this.#isFull()) this.#waiting.shift()?.();
	}

	#closeCrowded(): void {
		const idle = this.links.filter((link) => link.state === "idle").sort((a, b) => a.lastUsedMs - b.lastUsedMs);
		for (const link of idle.slice(0, Math.max(0, idle.length - MAX_IDLE_LINKS))) {
			this.recycles.crowded++;
			void link.close();
		}
	}

	#closeIdle(): void {
		for (const link of this.links) {
			if (link.state !== "idle" || performance.now() - link.lastUsedMs < LINK_IDLE_MS) continue;
			this.recycles.idle++;
			void link.close();
		}
	}
}

function misfitOf(link: Link, spec: LinkSpec): "profile" | "conversation" | null {
	const isUntouched = link.turns === 0 && link.spec.conversationId === spec.conversationId;
	if (link.spec.engine.id !== spec.engine.id) return "profile";
	if (JSON.stringify(link.spec.profile) !== JSON.stringify(spec.profile)) return "profile";
	return isUntouched || link.conversationId === spec.conversationId ? null : "conversation";
}
