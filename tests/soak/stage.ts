/** The place of a soak: the sandbox, the disk under pi-agy's data, and sessions opened one by one with settings of their own. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ExtensionFactory, SessionManager } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { Sandbox } from "../support/sandbox.ts";
import { enterSandbox, SdkSession } from "../support/sdk-session.ts";
import { DataDisk } from "./data-disk.ts";
import { SCENARIO, TOOL_NAME, toolAnswer } from "./scenario.ts";
import type { SessionPlan } from "./schedule.ts";

/** What agy's side says of the turns of a round, by the last line of their prompts. */
export type AgyNotes = {
	/** What it has on record as said. */
	readonly answers: ReadonlyMap<string, readonly string[]>;
	/** Calls of pi's tool that were open when agy connected anew to its servers: what it was left with. */
	readonly cutCalls: ReadonlyMap<string, string>;
	/** Servers that an agy could not connect to, and why. */
	readonly unreached: readonly string[];
};

type McpNote = {
	readonly pid: number;
	readonly event: string;
	readonly server?: string;
	readonly arguments?: { readonly text?: string };
	readonly ok?: boolean;
	readonly message?: string;
};

export class SoakStage {
	readonly sandbox = new Sandbox({ scenario: SCENARIO });
	readonly disk = new DataDisk(join(this.sandbox.agentDir, "pi-agy"));
	readonly #leave: () => void;
	#opening: Promise<unknown> = Promise.resolve();

	constructor() {
		this.sandbox.seedModels();
		this.#leave = enterSandbox(this.sandbox);
	}

	/** One after the other: the settings come through the environment of this process, and are read while it is made. */
	open(plan: SessionPlan, { isKept = true } = {}): Promise<SdkSession> {
		const opened = this.#opening.then(() => this.#open(plan, isKept));
		this.#opening = opened.catch(() => {}); // told by what is returned
		return opened;
	}

	async #open(plan: SessionPlan, isKept: boolean): Promise<SdkSession> {
		const cwd = join(this.sandbox.workspace, plan.name);
		mkdirSync(cwd, { recursive: true });
		const isLegacy = plan.engine === "legacy-sqlite";
		const before = { ...process.env };
		Object.assign(process.env, {
			AGY_ENGINE: plan.engine,
			AGY_SIM_DATABASE: isLegacy ? "on" : "off",
			AGY_SIM_TOKENS_PER_SECOND: String(plan.tokensPerSecond),
			AGY_BRIDGE_TOOLS: plan.hasTool ? "all" : "none",
			AGY_ASK_TOOL: "off",
		});
		try {
			return await SdkSession.open(this.sandbox, {
				cwd,
				...(isKept && { sessionManager: SessionManager.create(cwd, this.sandbox.sessionDir) }),
				extensions: plan.hasTool ? [echoTool(plan.name)] : [],
			});
		} finally {
			for (const variable of Object.keys(process.env)) if (!(variable in before)) delete process.env[variable];
			Object.assign(process.env, before);
		}
	}

	/** What agy's side says of the turns so far. */
	readNotes(): AgyNotes {
		return { answers: this.#readAnswers(), ...this.#readCalls() };
	}

	#readAnswers(): AgyNotes["answers"] {
		const answers = new Map<string, string[]>();
		const folder = this.sandbox.conversationsDir;
		for (const name of listed(folder)) {
			if (!name.endsWith(".json")) continue;
			const { turns } = JSON.parse(readFileSync(join(folder, name), "utf8")) as {
				turns: { prompt: string; response: string }[];
			};
			for (const { prompt, response } of turns) {
				const key = prompt.trimEnd().split("\n").at(-1) as string;
				answers.set(key, [...(answers.get(key) ?? []), response]);
			}
		}
		return answers;
	}

	/** agy connects anew to all its servers whenever their list changes, and its open calls end with the connection. */
	#readCalls(): Pick<AgyNotes, "cutCalls" | "unreached"> {
		const unreached: string[] = [];
		const cut = new Map<string, string>();
		const open = new Map<number, { readonly prompt: string; isReloaded: boolean }>();
		for (const line of this.sandbox.read("sim/journal.ndjson").split("\n")) {
			if (!line.includes('"kind":"mcp"')) continue;
			const { pid, event, server, arguments: args, ok, message } = JSON.parse(line) as McpNote;
			const call = open.get(pid);
			if (event === "connect-failed") unreached.push(`agy ${pid}, ${server}: ${message}`);
			if (event === "call") open.set(pid, { prompt: args?.text ?? "", isReloaded: false });
			else if (event === "reload" && call) call.isReloaded = true;
			else if (event === "answer" && call) {
				if (call.isReloaded && ok === false) cut.set(call.prompt, message ?? "");
				open.delete(pid);
			}
		}
		return { cutCalls: cut, unreached };
	}

	/** Between rounds, when no session is open: what agy wrote goes, or a long run would measure its growth. */
	clear(): void {
		const { sandbox } = this;
		const agy = join(sandbox.simHome, "antigravity-cli");
		const folders = [sandbox.conversationsDir, join(agy, "brain"), join(agy, "presence"), sandbox.workspace];
		for (const folder of [...folders, sandbox.sessionDir])
			for (const name of listed(folder)) rmSync(join(folder, name), { recursive: true, force: true });
		rmSync(join(sandbox.simHome, "journal.ndjson"), { force: true });
	}

	async close(): Promise<void> {
		this.#leave();
		this.disk.close();
		await this.sandbox.close();
	}
}

function listed(folder: string): readonly string[] {
	try {
		return readdirSync(folder);
	} catch {
		return []; // Never made.
	}
}

/** A tool of pi's that says whose it is: a call that reaches another session's pi is seen in the text. */
function echoTool(name: string): ExtensionFactory {
	return (pi) =>
		pi.registerTool({
			name: TOOL_NAME,
			label: TOOL_NAME,
			description: "Says again what it is told",
			parameters: Type.Object({ text: Type.String() }),
			execute: async (_callId, { text }) => ({
				content: [{ type: "text", text: toolAnswer(name, text) }],
				details: {},
			}),
		});
}
