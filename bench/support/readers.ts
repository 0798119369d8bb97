/** The two sides of the pipeline suite: the same children, their events delivered to the same consumers in main. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine } from "../../src/main/engines/engine.ts";
import { streamJsonEngine } from "../../src/main/engines/stream-json.ts";
import { workerUrls } from "../../src/main/hub.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { LanePool } from "../../src/main/lanes.ts";
import { Link, type LinkSpec } from "../../src/main/link.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { LineParser, mapLine } from "./control.ts";
import type { Load } from "./load.ts";

export type EventConsumer = { take(event: AgyEvent): void };

export type Reader = {
	/** Prompts every child at once; `consumers` has one entry per child. */
	start(load: Load, consumers: readonly EventConsumer[]): void;
	/** The consumers take nothing before the promise settles. Called before `start`. */
	holdUntil(held: Promise<void>): void;
	/** Input bytes a lane has read and main has not consumed. */
	heldBytes(): Promise<number>;
	close(): Promise<void>;
};

const SOURCE = fileURLToPath(new URL("./load-source.ts", import.meta.url));

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
	env: { PATH: process.env.PATH ?? "" },
};

/** The product: lanes, links and the process registry as main/hub.ts puts them together. */
export async function openLanes(linkCount: number): Promise<Reader> {
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
	const links = await Promise.all(
		Array.from({ length: linkCount }, (_, index) => Link.open(spec, index + 1, lanes, registry, () => {})),
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
		start: (load, consumers) => {
			for (const [index, door] of doors.entries()) door.consumer = consumers[index] ?? null;
			for (const link of links) link.submitMore(promptOf(load));
		},
		holdUntil: (until) => {
			held = until.then(() => {
				held = undefined;
			});
		},
		heldBytes: async () => (await lanes.stats()).reduce((sum, lane) => sum + lane.heldBytes, 0),
		close: async () => {
			await Promise.all(links.map((link) => link.close()));
			await lanes.close();
			await registry.close();
			await rm(directory, { recursive: true, force: true });
		},
	};
}

/** The control: ordinary pipes, read, parsed and mapped on the main thread. */
export async function openControl(linkCount: number): Promise<Reader> {
	const doors = Array.from({ length: linkCount }, () => new Door());
	const children = doors.map((door): ChildProcess => {
		const child = spawn(process.execPath, [SOURCE], { stdio: ["pipe", "pipe", "pipe"], env: { ...spec.env } });
		const onEvent = (event: AgyEvent) => door.take(event);
		const parser = new LineParser((line) => mapLine(line, onEvent));
		child.stdout.on("data", (chunk: Buffer) => parser.push(chunk));
		child.stderr.on("data", (chunk: Buffer) => process.stderr.write(chunk));
		return child;
	});
	for (const child of children) child.stdin?.write(promptOf(null));
	await Promise.all(doors.map((door) => door.opened));
	return {
		start: (load, consumers) => {
			for (const [index, door] of doors.entries()) door.consumer = consumers[index] ?? null;
			for (const child of children) child.stdin?.write(promptOf(load));
		},
		holdUntil: () => {
			throw new Error("The control has no back-pressure.");
		},
		heldBytes: () => Promise.resolve(0),
		close: async () => {
			const exits = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
			for (const child of children) child.stdin?.end();
			await Promise.all(exits);
		},
	};
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

/** Without a load the source only says that it is up. */
function promptOf(load: Load | null): string {
	return engine.encodePrompt(engine.payload(JSON.stringify(load)));
}
