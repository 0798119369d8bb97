/** Runs of the simulated agy that a real poll lane follows through their conversation databases, and what is heard of them. */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { legacySqliteEngine } from "../../src/main/engines/legacy-sqlite.ts";
import type { Link } from "../../src/main/link.ts";
import type { AgyEvent } from "../../src/shared/events.ts";
import { until, within } from "./condition.ts";
import { LaneRig, type Listener } from "./lane-rig.ts";
import { Sandbox, type ScenarioData } from "./sandbox.ts";

export type FollowOptions = {
	/** Default: "hi". */
	readonly prompt?: string;
	readonly conversationId?: string;
	/** agy prints its stream, and with it its conversation and its own verdict. Default: it prints text, as an old one does. */
	readonly speaks?: boolean;
};

/** One poll lane for a test file; each test has folders of its own. To be made at the top of the file. */
export class DatabaseRig {
	readonly #followed: FollowedAgy[] = [];
	#base: Sandbox | undefined;
	#rig: LaneRig | undefined;
	#place: Sandbox | undefined;

	constructor() {
		beforeAll(() => {
			this.#base = new Sandbox();
			this.#rig = new LaneRig(this.#base);
		});
		beforeEach(() => {
			this.#place = new Sandbox();
		});
		afterEach(() => this.#endTest());
		afterAll(async () => {
			await this.#rig?.close();
			await this.#base?.close();
		});
	}

	get rig(): LaneRig {
		if (!this.#rig) throw new Error("the lane is not there before the first test");
		return this.#rig;
	}

	/** Where this test's agy works. */
	get sandbox(): Sandbox {
		if (!this.#place) throw new Error("a sandbox is made for each test");
		return this.#place;
	}

	async follow(scenario: string | ScenarioData, options: FollowOptions = {}): Promise<FollowedAgy> {
		const { prompt = "hi", conversationId = null, speaks = false } = options;
		const missingFlags = speaks ? [] : ["output-format"];
		const { link, heard } = await this.rig.ask(prompt, {
			engine: legacySqliteEngine,
			place: this.sandbox,
			scenario,
			conversationId,
			missingFlags,
		});
		const followed = new FollowedAgy(this.sandbox, link, heard);
		this.#followed.push(followed);
		return followed;
	}

	/** Throws when a handle of a database is left open, in whatever thread. */
	async #endTest(): Promise<void> {
		const { conversationsDir } = this.sandbox;
		await within("the end of the links", Promise.all(this.#followed.splice(0).map(({ link }) => link.close())));
		try {
			await until(
				() => `no handle left open: ${handlesIn(conversationsDir).join(", ")}`,
				() => handlesIn(conversationsDir).length === 0,
			);
		} finally {
			await this.sandbox.close();
		}
	}
}

export class FollowedAgy {
	readonly link: Link;
	readonly heard: Listener;
	readonly #sandbox: Sandbox;

	constructor(sandbox: Sandbox, link: Link, heard: Listener) {
		this.#sandbox = sandbox;
		this.link = link;
		this.heard = heard;
	}

	/** The answer as a consumer has it now: every step's text, in order of the steps. */
	get answer(): string {
		return said(this.heard.events, "text");
	}

	get thinking(): string {
		return said(this.heard.events, "thinking");
	}

	get outline(): readonly string[] {
		return outlineOf(this.heard.events);
	}

	/** Waits until this is in the outline, then lets the writer go on. */
	async seen(line: string, gate: string): Promise<void> {
		await until(
			() => `${line} in ${JSON.stringify(this.outline)}`,
			() => this.outline.includes(line),
		);
		this.#sandbox.openGate(gate);
	}

	/** The outline when everything is over. */
	async over(): Promise<readonly string[]> {
		await this.heard.over();
		return this.outline;
	}
}

/** What was said of a kind, as it stands after every replacement. */
function said(events: readonly AgyEvent[], kind: "text" | "thinking"): string {
	const steps = new Map<number, string>();
	for (const event of events) {
		if (event.kind !== kind) continue;
		steps.set(event.step, event.replaces ? event.text : (steps.get(event.step) ?? "") + event.text);
	}
	return [...steps]
		.sort(([a], [b]) => a - b)
		.map(([, text]) => text)
		.join("");
}

/** One short line an event; pieces of one text that follow each other are one, however they were cut. */
export function outlineOf(events: readonly AgyEvent[]): readonly string[] {
	const joined: AgyEvent[] = [];
	for (const event of events) {
		const last = joined.at(-1);
		const isPiece = (event.kind === "text" || event.kind === "thinking") && !event.replaces;
		if (isPiece && last?.kind === event.kind && last.step === event.step)
			joined[joined.length - 1] = { ...last, text: last.text + event.text };
		else joined.push(event);
	}
	return joined.map(lineOf);
}

function lineOf(event: AgyEvent): string {
	switch (event.kind) {
		case "text":
		case "thinking":
			return `${event.step} ${event.kind}${event.replaces ? " again" : ""}: ${event.text}`;
		case "model-call":
			return `${event.step} model-call`;
		case "notice":
			return `${event.step} notice ${event.type}`;
		case "tool":
			return `${event.step} ${event.name} ${event.state}${event.state === "active" ? ` ${JSON.stringify(event.args)}` : ""}${event.output === undefined ? "" : `: ${event.output}`}${event.error ? ` (${event.error.type})` : ""}`;
		case "subagent":
			return `${event.step} subagent ${event.state}`;
		case "turn-end":
			return `turn-end ${event.status}${event.error && `: ${event.error}`}`;
		case "unknown":
			return `unknown ${event.what} ${event.name}`;
		default:
			return event.kind;
	}
}

/** Files of a folder that this process holds open. */
export function handlesIn(folder: string): readonly string[] {
	return readdirSync("/proc/self/fd").flatMap((name) => {
		try {
			const path = readlinkSync(join("/proc/self/fd", name));
			return path.startsWith(folder) ? [path] : [];
		} catch {
			return []; // closed since
		}
	});
}
