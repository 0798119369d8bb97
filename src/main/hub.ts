/**
 * What all pi sessions of one process share: lanes, links, the process registry, the log. A host runs dozens of sessions
 * in one process and each loads the extension anew, so this is the one thing that hangs off the process instead of the
 * factory call. It is made by the first session that needs it and closed with the last (docs/decisions/0009).
 */

import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DriftCounter } from "../shared/drift.ts";
import { AgyError } from "../shared/errors.ts";
import type { LaneKind } from "../shared/lane-control.ts";
import { CONTRACT_VERSION } from "../shared/limits.ts";
import { AgentFiles } from "./agent-files.ts";
import { BinaryProbe } from "./binary.ts";
import { McpConfigFile } from "./bridge/mcp-config-file.ts";
import { BridgeServer } from "./bridge/mcp-server.ts";
import { Registration } from "./bridge/registration.ts";
import { SharedServers } from "./bridge/shared-servers.ts";
import { Suppression } from "./bridge/suppression.ts";
import type { Config } from "./config.ts";
import { ConversationLocks } from "./conversation-locks.ts";
import { capturesDirOf, sweepCaptures } from "./diagnostics/captures.ts";
import { LoopDelay } from "./diagnostics/loop-delay.ts";
import { sweepDrafts } from "./drafts.ts";
import { HubRecord } from "./hub-record.ts";
import { JsonStore } from "./json-store.ts";
import { LanePool } from "./lanes.ts";
import { LinkPool } from "./link-pool.ts";
import { Log, type LogWriter } from "./log.ts";
import { ProcessRegistry } from "./processes/registry.ts";
import { Spill } from "./spill.ts";
import { DelegationSlots } from "./tools/delegation-slots.ts";
import { Microphone } from "./voice/microphone.ts";

/** A unix socket path has room for about 100 bytes; a long TMPDIR leaves none. */
const MAX_SOCKET_DIR_CHARS = 80;

export class Hub {
	readonly log: Log;
	/** What agy said that this version does not know, over all links. */
	readonly drift = new DriftCounter();
	readonly loopDelay = new LoopDelay();
	readonly registry: ProcessRegistry;
	readonly lanes: LanePool;
	readonly links: LinkPool;
	readonly binaries: BinaryProbe;
	readonly agentFiles: AgentFiles;
	/** The server behind the bridges of all sessions, how agy gets to know them, and what keeps them from a delegated run. */
	readonly bridgeServer: BridgeServer;
	readonly bridges: Registration;
	readonly suppression: Suppression;
	readonly delegations = new DelegationSlots();
	readonly microphone: Microphone;
	/** Of this process alone, and gone with it even when it is killed: the lanes' sockets, recordings. */
	readonly privateDir: string;
	readonly #record: HubRecord;
	readonly #recorded: Promise<unknown>;

	constructor(config: Config) {
		const report = (error: unknown) => this.log.write("error", String(error));
		this.log = new Log(join(config.dataDir, "logs"), config.debug);
		const log: LogWriter = (...entry) => this.log.write(...entry);
		log("info", `pi-agy starts on node ${process.versions.node}`, { event: "extension-load" });
		this.privateDir = makePrivateDir();
		this.registry = new ProcessRegistry(new JsonStore(join(config.dataDir, "processes.json")), this.privateDir, report);
		this.lanes = new LanePool({
			workerUrls: workerUrls(import.meta.url),
			socketDir: this.privateDir,
			drift: this.drift,
			capture: config.capture === 0 ? null : { directory: capturesDirOf(config), turns: config.capture },
			log,
		});
		this.agentFiles = new AgentFiles(
			new JsonStore(join(config.dataDir, "agents.json")),
			join(config.geminiDir, "config", "agents"),
		);
		const servers = new SharedServers(
			new JsonStore(join(config.dataDir, "bridges.json")),
			new McpConfigFile(join(config.geminiDir, "config", "mcp_config.json")),
		);
		this.bridgeServer = new BridgeServer({ log });
		this.bridges = new Registration(servers, {
			privateRoot: join(config.dataDir, "bridge"),
			schemaRoot: join(config.geminiDir, "antigravity-cli", "mcp"),
		});
		this.suppression = new Suppression(servers);
		const locks = new ConversationLocks(join(config.dataDir, "locks"));
		this.#record = new HubRecord(new JsonStore(join(config.dataDir, "hubs.json")));
		this.#recorded = this.#record.add(this.privateDir).catch(report);
		const swept = Promise.all([
			this.registry.sweep(),
			locks.sweep(),
			sweepDrafts(config.dataDir),
			sweepCaptures(capturesDirOf(config)),
			Spill.sweep(join(config.dataDir, "spill")),
			this.agentFiles.sweep(),
			this.bridges.sweep(),
		]).catch(report);
		this.links = new LinkPool({
			lanes: this.lanes,
			registry: this.registry,
			locks,
			swept,
			log,
		});
		this.microphone = new Microphone({
			lanes: this.lanes,
			registry: this.registry,
			directory: this.privateDir,
			log,
		});
		this.binaries = new BinaryProbe(new JsonStore(join(config.dataDir, "binaries.json")), this.registry, report);
	}

	/** Children first, then the threads, then the record of both. */
	async close(): Promise<void> {
		const steps = [
			() => this.microphone.close(),
			() => this.links.close(),
			() => this.lanes.close(),
			() => this.bridgeServer.close(),
			() => this.bridges.close(),
			() => this.agentFiles.close(),
			() => this.registry.close(),
			async () => this.loopDelay.close(),
			() => rm(this.privateDir, { recursive: true, force: true }),
			async () => {
				await this.#recorded;
				await this.#record.remove(this.privateDir);
			},
			() => this.log.settled(),
		];
		for (const step of steps)
			await step().catch((error: unknown) => this.log.write("error", `shutdown: ${String(error)}`));
	}
}

/**
 * A session's share of the hub. The hub is made on the first `get` of all shares and closed with the last. A share that was
 * given back is never held again: what comes late would make a second hub that nobody closes.
 */
export class HubShare {
	readonly #config: Config;
	#isHeld = false;
	#isReleased = false;
	#retired = "";

	constructor(config: Config) {
		this.#config = config;
	}

	/** Throws `cancelled` once the share was given back. */
	get(): Hub {
		if (this.#retired !== "") throw new AgyError("cancelled", this.#retired);
		if (this.#isReleased) throw new AgyError("cancelled", "This pi session has ended.");
		const hubs = hubsOfProcess();
		const entry = hubs.get(this.#key) ?? { hub: new Hub(this.#config), shares: 0 };
		hubs.set(this.#key, entry);
		if (!this.#isHeld) entry.shares++;
		this.#isHeld = true;
		return entry.hub;
	}

	/** The hub, if this share holds it. */
	peek(): Hub | null {
		return this.#isHeld ? (hubsOfProcess().get(this.#key)?.hub ?? null) : null;
	}

	/** How many other sessions of this process use the hub. */
	get others(): number {
		const { shares = 0 } = hubsOfProcess().get(this.#key) ?? {};
		return this.#isHeld ? shares - 1 : shares;
	}

	/** Nothing is to be started by this session any more: `get` throws an AgyError that says why. To be called before `release`. */
	retire(why: string): void {
		this.#retired = why;
	}

	get isRetired(): boolean {
		return this.#retired !== "";
	}

	/** Gives the share back. Resolves when the hub is closed, if it was the last. May be called twice. */
	async release(): Promise<void> {
		const hubs = hubsOfProcess();
		const entry = hubs.get(this.#key);
		this.#isReleased = true;
		if (!this.#isHeld || !entry) return;
		this.#isHeld = false;
		if (--entry.shares > 0) return;
		hubs.delete(this.#key);
		await entry.hub.close();
	}

	get #key(): string {
		return `${import.meta.url}\n${this.#config.dataDir}`;
	}
}

type Entry = { readonly hub: Hub; shares: number };

/** pi evaluates this module once per load of the extension; the table is found by its name instead. */
function hubsOfProcess(): Map<string, Entry> {
	const holder = globalThis as { [name: symbol]: Map<string, Entry> | undefined };
	const name = Symbol.for(`pi-agy.hubs.${CONTRACT_VERSION}`);
	holder[name] ??= new Map();
	return holder[name];
}

/** From a checkout workers run as TypeScript; under node_modules Node refuses that, so the package ships them compiled. */
export function workerUrls(moduleUrl: string): Readonly<Record<LaneKind, URL>> {
	const isInstalled = moduleUrl.includes("/node_modules/");
	return {
		decode: new URL(isInstalled ? "../../dist/workers/decode/worker.js" : "../workers/decode/worker.ts", moduleUrl),
		poll: new URL(isInstalled ? "../../dist/workers/poll/worker.js" : "../workers/poll/worker.ts", moduleUrl),
		audio: new URL(isInstalled ? "../../dist/workers/audio/worker.js" : "../workers/audio/worker.ts", moduleUrl),
	};
}

function makePrivateDir(): string {
	const base = tmpdir().length > MAX_SOCKET_DIR_CHARS ? "/tmp" : tmpdir();
	return mkdtempSync(join(base, "pi-agy-"));
}
