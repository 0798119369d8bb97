/** The sides of the pipeline and poll suites: the same children, their events delivered to the same consumers in main. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine } from "../../src/main/engines/engine.ts";
import { legacySqliteEngine } from "../../src/main/engines/legacy-sqlite.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { workerUrls } from "../../src/main/hub.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { LanePool } from "../../src/main/lanes.ts";
import { Link, type LinkSpec } from "../../src/main/link.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { LineParser, mapLine } from "./control.ts";
import { Feed, RELAY } from "./feed.ts";
import type { Load } from "./load.ts";
import { WholeRowReader } from "./whole-row-reader.ts";

export type EventConsumer = { take(event: AgyEvent): void };

export type Reader = {
	/** Prompts every child at once; `loads` and `consumers` have one entry per child. */
	start(loads: readonly Load[], consumers: readonly EventConsumer[]): void | Promise<void>;
	/** The consumers take nothing before the promise settles. Called before `start`. */
	holdUntil(held: Promise<void>): void;
	/** Input bytes a lane has read and main has not consumed. */
	heldBytes(): Promise<number>;
	close(): Promise<void>;
};

const SOURCE = fileURLToPath(new URL("./load-source.ts", import.meta.url));
const DATABASE_SOURCE = fileURLToPath(new URL("./database-source.ts", import.meta.url));
/** What bridges that read databases use. */
const CONTROL_INTERVAL_MS = 250;

const engine: Engine = { ...streamJsonEngine, args: () => [SOURCE] };
const spec: LinkSpec = {
	sessionId: null,
	engine,
	profile: {
		bin: process.execPath,
		cwd: process.cwd(),
		addDirs: [],
		modelSlug: "load",
		mode: "default",
		skipPermissions: false,
		agent: null,
		missingFlags: [],
		extraArgs: [],
	},
	conversationId: null,
	run: null,
	env: { PATH: process.env.PATH ?? "" },
};

/** Lanes and the process registry as main/hub.ts puts them together. */
function openProduct() {
	const directory = mkdtempSync(join(tmpdir(), "pi-agy-bench-"));
	const log = (text: string) => process.stderr.write(`${text}\n`);
	const registry = new ProcessRegistry(new JsonStore(join(directory, "processes.json")), directory, (error) =>
		log(String(error)),
	);
	const lanes = new LanePool({
		workerUrls: workerUrls(new URL("../../src/main/hub.ts", import.meta.url).href),
		socketDir: directory,
		log: (_level, text) => log(text),
	});
	const close = async (links: readonly Link[]) => {
		await Promise.all(links.map((link) => link.close()));
		await lanes.close();
		await registry.close();
		await rm(directory, { recursive: true, force: true });
	};
	return { directory, registry, lanes, close };
}

/** The product: links in decode lanes. */
export async function openLanes(linkCount: number, isFed: boolean): Promise<Reader> {
	const { directory, registry, lanes, close } = openProduct();
	const child = childOf(isFed);
	const childEngine: Engine = { ...engine, args: () => child.args };
	const childSpec: LinkSpec = { ...spec, engine: childEngine, profile: { ...spec.profile, bin: child.bin } };
	const links = await Promise.all(
		Array.from({ length: linkCount }, (_, index) => Link.open(childSpec, index + 1, lanes, registry, () => {})),
	);
	const doors = links.map(() => new Door());
	let held: Promise<void> | undefined;
	for (const [index, link] of links.entries()) {
		link.submit(promptOf(null), {
			receive: (message) => {
				if (message.kind === "events") for (const event of message.events) doors[index]?.take(event);
				return held;
			},
			ended: () => {},
		});
	}
	await Promise.all(doors.map((door) => door.opened));
	return {
		start: (loads, consumers) => {
			for (const [index, door] of doors.entries()) door.consumer = consumers[index] ?? null;
			return promptAll(loads, isFed ? directory : null, (index, prompt) => links[index]?.submitMore(prompt));
		},
		holdUntil: (until) => {
			held = until.then(() => {
				held = undefined;
			});
		},
		heldBytes: async () => (await lanes.stats()).reduce((sum, lane) => sum + lane.heldBytes, 0),
		close: () => close(links),
	};
}

/** The control: ordinary pipes, read, parsed and mapped on the main thread. */
export async function openControl(linkCount: number, isFed: boolean): Promise<Reader> {
	const directory = mkdtempSync(join(tmpdir(), "pi-agy-bench-"));
	const { bin, args } = childOf(isFed);
	const doors = Array.from({ length: linkCount }, () => new Door());
	const children = doors.map((door): ChildProcess => {
		const child = spawn(bin, [...args], { stdio: ["pipe", "pipe", "pipe"], env: { ...spec.env } });
		const onEvent = (event: AgyEvent) => door.take(event);
		const parser = new LineParser((line) => mapLine(line, onEvent));
		child.stdout.on("data", (chunk: Buffer) => parser.push(chunk));
		child.stderr.on("data", (chunk: Buffer) => process.stderr.write(chunk));
		return child;
	});
	for (const child of children) child.stdin?.write(promptOf(null));
	await Promise.all(doors.map((door) => door.opened));
	return {
		start: (loads, consumers) => {
			for (const [index, door] of doors.entries()) door.consumer = consumers[index] ?? null;
			return promptAll(loads, isFed ? directory : null, (index, prompt) => children[index]?.stdin?.write(prompt));
		},
		holdUntil: () => {
			throw new Error("The control has no back-pressure.");
		},
		heldBytes: () => Promise.resolve(0),
		close: async () => {
			const exits = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
			for (const child of children) child.stdin?.end();
			await Promise.all(exits);
			await rm(directory, { recursive: true, force: true });
		},
	};
}

/** Runs followed in a poll lane. Each is started with its load as the prompt. */
export async function openPoll(linkCount: number): Promise<Reader> {
	const { directory, registry, lanes, close } = openProduct();
	const links: Link[] = [];
	return {
		start: (loads, consumers) => {
			for (const [index, consumer] of consumers.slice(0, linkCount).entries()) {
				const load = loads[index];
				if (load) void openRun(load, index, consumer);
			}
		},
		holdUntil: () => {
			throw new Error("The poll suite holds nothing back.");
		},
		heldBytes: () => Promise.resolve(0),
		close: () => close(links),
	};

	async function openRun(load: Load, index: number, consumer: EventConsumer): Promise<void> {
		const conversationsDir = conversationsDirOf(directory, index);
		const prompt = JSON.stringify(load);
		const runEngine: Engine = { ...legacySqliteEngine, args: () => [DATABASE_SOURCE, conversationsDir, prompt] };
		const runSpec = { ...spec, engine: runEngine, run: { prompt, conversationsDir } };
		const link = await Link.open(runSpec, index + 1, lanes, registry, () => {});
		links.push(link);
		link.submit(prompt, {
			receive: (message) => {
				if (message.kind === "events") for (const event of message.events) consumer.take(event);
			},
			ended: () => {},
		});
	}
}

/** The control: the same runs, their whole rows read and decoded every 250 ms on the main thread. */
export async function openPollControl(linkCount: number): Promise<Reader> {
	const directory = mkdtempSync(join(tmpdir(), "pi-agy-bench-"));
	const exits: Promise<unknown>[] = [];
	return {
		start: (loads, consumers) => {
			for (const [index, consumer] of consumers.slice(0, linkCount).entries()) {
				const load = loads[index];
				if (load) exits.push(followOnMain(conversationsDirOf(directory, index), load, consumer));
			}
		},
		holdUntil: () => {
			throw new Error("The control has no back-pressure.");
		},
		heldBytes: () => Promise.resolve(0),
		close: async () => {
			await Promise.all(exits);
			await rm(directory, { recursive: true, force: true });
		},
	};
}

async function followOnMain(conversationsDir: string, load: Load, consumer: EventConsumer): Promise<void> {
	const args = [DATABASE_SOURCE, conversationsDir, JSON.stringify(load)];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...spec.env } });
	let stdout = "";
	child.stdout.on("data", (chunk: Buffer) => {
		stdout += chunk.toString("utf8");
	});
	const opened: WholeRowReader[] = [];
	const look = () => {
		const reader = opened[0] ?? WholeRowReader.open(conversationsDir);
		if (reader === null) return;
		opened[0] = reader;
		const text = reader.look();
		if (text !== "") consumer.take({ kind: "text", step: 1, text });
	};
	const timer = setInterval(look, CONTROL_INTERVAL_MS);
	await new Promise((resolve) => child.once("close", resolve));
	clearInterval(timer);
	look();
	opened[0]?.close();
	const parser = new LineParser((line) => mapLine(line, (event) => consumer.take(event)));
	parser.push(Buffer.from(stdout));
}

function conversationsDirOf(directory: string, index: number): string {
	const path = join(directory, `run-${index}`);
	mkdirSync(path, { recursive: true });
	return path;
}

/** The end of a reader for one child: opens with its first event, passes the later ones on. */
class Door {
	consumer: EventConsumer | null = null;
	#open: () => void = () => {};
	readonly opened = new Promise<void>((resolve) => {
		this.#open = resolve;
	});

	take(event: AgyEvent): void {
		if (event.kind === "ready") this.#open();
		else this.consumer?.take(event);
	}
}

/** What is run in place of agy: a source that prints by itself, or a relay that is fed. */
function childOf(isFed: boolean): { readonly bin: string; readonly args: readonly string[] } {
	return isFed ? { bin: "/bin/sh", args: [RELAY] } : { bin: process.execPath, args: [SOURCE] };
}

/** `directory` is where the fifos of relays go; null for sources, which print by themselves. */
async function promptAll(
	loads: readonly Load[],
	directory: string | null,
	tell: (index: number, prompt: string) => void,
): Promise<void> {
	if (directory === null) {
		for (const [index, load] of loads.entries()) tell(index, promptOf(load));
		return;
	}
	const feed = await Feed.open(directory, loads);
	for (const index of loads.keys()) tell(index, engine.encodePrompt(engine.payload(feed.prompt(index))));
	feed.begin();
}

/** Without a load the source only says that it is up. */
function promptOf(load: Load | null): string {
	return engine.encodePrompt(engine.payload(JSON.stringify(load)));
}
