import { readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConversationLocks } from "../../src/main/conversation-locks.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import type { LanePool } from "../../src/main/lanes.ts";
import { Link, type LinkSpec } from "../../src/main/link.ts";
import { LinkPool } from "../../src/main/link-pool.ts";
import type { ProcessRegistry } from "../../src/main/processes/registry.ts";
import { LINK_IDLE_MS, MAX_IDLE_LINKS, MAX_RUNNING_LINKS } from "../../src/shared/limits.ts";
import { ChildNursery } from "../support/child-process.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";

const HOLDER = fileURLToPath(new URL("../support/resource-holder.ts", import.meta.url));

/** A link without a process: it is closed when the test says so, or at once. */
class PooledLink {
	readonly spec: LinkSpec;
	readonly closed: Promise<void>;
	conversationId: string | null;
	state: Link["state"] = "running";
	turns = 1;
	lastUsedMs = performance.now();
	closesAtOnce = true;
	gone: () => void = () => {};
	readonly exit = null;
	readonly pid = 1;
	readonly #onNamed: (conversationId: string) => void;

	constructor(spec: LinkSpec, onNamed: (conversationId: string) => void) {
		this.spec = spec;
		this.#onNamed = onNamed;
		this.conversationId = spec.conversationId;
		this.closed = new Promise((resolve) => {
			this.gone = () => {
				this.state = "closed";
				resolve();
			};
		});
	}

	name(conversationId: string): void {
		this.conversationId = conversationId;
		this.#onNamed(conversationId);
	}

	reserve(): void {
		this.state = "running";
	}

	release(): void {
		this.state = "idle";
		this.lastUsedMs = performance.now();
	}

	close(): Promise<void> {
		if (this.state !== "closed") this.state = "closing";
		if (this.closesAtOnce) this.gone();
		return this.closed;
	}
}

const folder = new Folder();
const nursery = new ChildNursery();
let opened: PooledLink[];
let openError: Error | null;
/** What agy names before its start has been recorded. */
let namedWhileOpening: string | null;
let pool: LinkPool;

beforeEach(() => {
	opened = [];
	openError = null;
	namedWhileOpening = null;
	vi.spyOn(Link, "open").mockImplementation(async (spec, _id, _lanes, _registry, onNamed) => {
		const link = new PooledLink(spec, onNamed);
		if (namedWhileOpening !== null) link.name(namedWhileOpening);
		if (openError) throw openError;
		opened.push(link);
		return link as unknown as Link;
	});
	pool = openPool();
});

afterEach(async () => {
	for (const link of opened) link.closesAtOnce = true;
	await pool.close();
	expect(locksHeld()).toStrictEqual([]);
	vi.useRealTimers();
	vi.restoreAllMocks();
});

function openPool(swept: Promise<unknown> = Promise.resolve()): LinkPool {
	const locks = new ConversationLocks(folder.at("locks"));
	return new LinkPool({
		lanes: { nextLinkId: () => ++linkCount } as unknown as LanePool,
		registry: {} as ProcessRegistry,
		locks,
		swept,
		log: () => {},
	});
}

function locksHeld(): readonly string[] {
	try {
		return readdirSync(folder.at("locks"));
	} catch {
		return []; // None was ever taken.
	}
}

function specOf(more: Partial<LinkSpec> = {}, profile: Partial<LinkSpec["profile"]> = {}): LinkSpec {
	return {
		sessionId: "s1",
		engine: streamJsonEngine,
		profile: {
			bin: "/opt/agy",
			cwd: "/srv/demo",
			addDirs: [],
			modelSlug: "m",
			mode: "default",
			skipPermissions: true,
			agent: null,
			missingFlags: [],
			extraArgs: [],
			...profile,
		},
		conversationId: null,
		env: {},
		run: null,
		...more,
	};
}

function acquire(spec = specOf(), signal = new AbortController().signal, onWait = () => {}): Promise<PooledLink> {
	return pool.acquire(spec, { signal, onWait }) as unknown as Promise<PooledLink>;
}

const release = (link: PooledLink) => pool.release(link as unknown as Link);

let linkCount = 0;

describe("the session's own idle process", () => {
	test("takes the next turn while its profile and conversation fit", async () => {
		const first = await acquire();
		first.name("c1");
		release(first);
		expect(await acquire(specOf({ conversationId: "c1" }))).toBe(first);
		expect(opened).toHaveLength(1);
	});

	test.each<[string, LinkSpec, "profile" | "conversation"]>([
		["the model", specOf({ conversationId: "c1" }, { modelSlug: "n" }), "profile"],
		["the agent, that is pi's system prompt", specOf({ conversationId: "c1" }, { agent: "pi-agy-1" }), "profile"],
		["the spill directory", specOf({ conversationId: "c1" }, { addDirs: ["/x"] }), "profile"],
		["the conversation", specOf({ conversationId: "c2" }), "conversation"],
		["the conversation, which is a fresh one", specOf({ conversationId: null }), "conversation"],
	])("is ended when %s changed", async (_name, spec, cause) => {
		const first = await acquire();
		first.name("c1");
		release(first);
		const second = await acquire(spec);
		expect(second).not.toBe(first);
		expect(first.state).toBe("closed");
		expect(second.spec).toBe(spec);
		expect(pool.recycles[cause]).toBe(1);
	});

	test("is nobody else's", async () => {
		release(await acquire());
		await acquire(specOf({ sessionId: "s2" }));
		await acquire(specOf({ sessionId: null }));
		expect(opened).toHaveLength(3);
	});

	test("of a side request does not exist: its process ends with it", async () => {
		const link = await acquire(specOf({ sessionId: null }));
		release(link);
		expect(link.state).toBe("closed");
	});
});

describe("one process per conversation", () => {
	test("a new one waits until the old one is gone", async () => {
		const first = await acquire(specOf({ conversationId: "c1" }));
		release(first);
		first.closesAtOnce = false;
		const second = acquire(specOf({ conversationId: "c1" }, { modelSlug: "n" }));
		await until("the first is being closed", () => first.state === "closing");
		expect(opened).toHaveLength(1);
		first.gone();
		expect((await second).conversationId).toBe("c1");
		expect(locksHeld()).toStrictEqual(["c1.lock"]);
	});

	test("another session of this pi is told that it is busy", async () => {
		await acquire(specOf({ conversationId: "c1" }));
		await expect(acquire(specOf({ sessionId: "s2", conversationId: "c1" }))).rejects.toMatchObject({
			code: "conversation-busy",
			message: "Another session of this pi is working on this conversation.",
		});
	});

	test("so is a pi while another pi process is on it", async () => {
		const other = await nursery.run(process.execPath, ["--no-warnings", HOLDER, "lock", folder.at("locks"), "c1"], {
			lines: 1,
		});
		await expect(acquire(specOf({ conversationId: "c1" }))).rejects.toMatchObject({
			code: "conversation-busy",
			message: "Another pi process is working on this conversation.",
		});
		expect(opened).toHaveLength(0);
		process.kill(other.pid, "SIGTERM");
		await other.exited;
		await acquire(specOf({ conversationId: "c1" }));
	});

	test("it is locked from its start, and from the moment agy names one, until its process is gone", async () => {
		const resumed = await acquire(specOf({ conversationId: "c1" }));
		const fresh = await acquire(specOf({ sessionId: "s2" }));
		expect(locksHeld()).toStrictEqual(["c1.lock"]);
		fresh.name("c2");
		fresh.name("c2");
		resumed.name("c3");
		await until("three locks", () => locksHeld().length === 3);
		release(resumed);
		expect(locksHeld()).toHaveLength(3);
		await resumed.close();
		await until("one lock", () => locksHeld().join() === "c2.lock");
		await fresh.close();
		await until("no lock", () => locksHeld().length === 0);
	});

	test("it is locked also when agy names it while its start is still being recorded", async () => {
		namedWhileOpening = "c1";
		const link = await acquire();
		await until("the lock", () => locksHeld().join() === "c1.lock");
		await link.close();
		await until("no lock", () => locksHeld().length === 0);
	});

	test.each<[string, () => Promise<unknown>]>([
		[
			"is cancelled",
			() => {
				const abort = new AbortController();
				const acquired = acquire(specOf({ conversationId: "c1" }), abort.signal);
				abort.abort();
				return acquired;
			},
		],
		[
			"cannot be opened",
			() => {
				openError = new Error("spawn EACCES");
				return acquire(specOf({ conversationId: "c1" }));
			},
		],
		[
			"names a conversation and cannot be opened",
			() => {
				namedWhileOpening = "c2";
				openError = new Error("the record cannot be written");
				return acquire();
			},
		],
		[
			"comes when all is shut down",
			async () => {
				await pool.close();
				return acquire(specOf({ conversationId: "c1" }));
			},
		],
	])("a process that %s leaves no lock", async (_name, tryIt) => {
		await expect(tryIt()).rejects.toThrow();
		expect(locksHeld()).toStrictEqual([]);
		expect(opened).toHaveLength(0);
	});

	test("a lock that cannot be written for a conversation agy has just made does no harm", async () => {
		writeFileSync(folder.at("locks"), "in the way");
		const unhandled: unknown[] = [];
		const note = (error: unknown) => unhandled.push(error);
		process.on("unhandledRejection", note);
		try {
			const link = await acquire();
			link.name("c1");
			await link.close();
			for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
			expect(unhandled).toStrictEqual([]);
		} finally {
			process.off("unhandledRejection", note);
		}
	});
});

describe("how many there are", () => {
	test("a turn waits, visibly and once, while all processes are busy", async () => {
		for (let index = 0; index < MAX_RUNNING_LINKS; index++) await acquire(specOf({ sessionId: `s${index}` }));
		let waits = 0;
		const waiting = acquire(specOf({ sessionId: "late" }), undefined, () => waits++);
		await until("it waits", () => waits === 1);
		expect(opened).toHaveLength(MAX_RUNNING_LINKS);
		release(opened[0] as PooledLink);
		expect((await waiting).spec.sessionId).toBe("late");
		expect(waits).toBe(1);
	});

	test("a turn that waits can be cancelled", async () => {
		for (let index = 0; index < MAX_RUNNING_LINKS; index++) await acquire(specOf({ sessionId: `s${index}` }));
		const abort = new AbortController();
		let isWaiting = false;
		const waiting = acquire(specOf({ sessionId: "late" }), abort.signal, () => {
			isWaiting = true;
		});
		await until("it waits", () => isWaiting);
		abort.abort();
		await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
	});

	test("the idle ones least recently used are closed", async () => {
		const links: PooledLink[] = [];
		for (let index = 0; index <= MAX_IDLE_LINKS; index++) links.push(await acquire(specOf({ sessionId: `s${index}` })));
		for (const [index, link] of links.entries()) {
			release(link);
			link.lastUsedMs = index;
		}
		release(links.at(-1) as PooledLink);
		expect(links.map((link) => link.state)).toStrictEqual(["closed", ...Array(MAX_IDLE_LINKS).fill("idle")]);
		expect(pool.recycles.crowded).toBe(1);
	});

	test("one that was idle for long is closed", async () => {
		vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
		pool = openPool();
		const [idle, busy] = [await acquire(), await acquire(specOf({ sessionId: "s2" }))];
		release(idle);
		vi.advanceTimersByTime(LINK_IDLE_MS - LINK_IDLE_MS / 10);
		expect(idle.state).toBe("idle");
		vi.advanceTimersByTime(LINK_IDLE_MS / 5);
		expect([idle.state, busy.state]).toStrictEqual(["closed", "running"]);
		expect(pool.recycles.idle).toBe(1);
	});
});

test("nothing starts before the leftovers of killed processes are swept", async () => {
	let sweep: () => void = () => {};
	pool = openPool(
		new Promise<void>((resolve) => {
			sweep = resolve;
		}),
	);
	const acquired = acquire();
	await new Promise(setImmediate);
	expect(opened).toHaveLength(0);
	sweep();
	await acquired;
	expect(opened).toHaveLength(1);
});

test("the end of a session closes its processes alone", async () => {
	const [own, other] = [await acquire(), await acquire(specOf({ sessionId: "s2" }))];
	await pool.closeSession("s1");
	expect([own.state, other.state]).toStrictEqual(["closed", "running"]);
});
