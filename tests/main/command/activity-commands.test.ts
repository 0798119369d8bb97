import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { SessionActivity } from "../../../src/main/activity/session-activity.ts";
import { activityCommands } from "../../../src/main/command/activity-commands.ts";
import { patchCleanupCommand } from "../../../src/main/command/patch-cleanup-command.ts";
import type { Subcommand } from "../../../src/main/command/subcommand.ts";
import { uninstallCommand } from "../../../src/main/command/uninstall-command.ts";
import { streamJsonEngine } from "../../../src/main/engines/stream-json.ts";
import { NOTHING_TOLD } from "../../../src/main/history.ts";
import { JsonStore } from "../../../src/main/json-store.ts";
import { SessionBindings } from "../../../src/main/sessions.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const ID = "c0ffee00-0000-4000-8000-000000000001";
const context = {
	...{ cwd: "/work", mode: "print", hasUI: false, isIdle: () => true },
	sessionManager: { getSessionId: () => "session" },
};
let activity: SessionActivity;
let bindings: SessionBindings;
let commands: readonly Subcommand[];
let opened: readonly string[];

beforeEach(() => {
	activity = new SessionActivity();
	opened = [];
	bindings = new SessionBindings(new JsonStore(folder.at("sessions.json")), (error) => {
		throw error;
	});
	const config = { geminiDir: folder.path, dataDir: folder.at("data"), searchPath: [], voice: { env: {} } as never };
	const hub = () => null;
	commands = [
		...activityCommands({ config, engine: streamJsonEngine, bindings, activity, hub, context: () => context as never }),
		patchCleanupCommand(config),
		uninstallCommand({ config, hub, otherSessions: () => opened.length, source: () => null, end: async () => {} }),
	];
});

const find = (name: string) => commands.find((command) => command.name === name) as Subcommand;

function run(name: string, rest: string, more: object = {}) {
	const words = rest.split(" ").filter((word) => word !== "");
	return find(name).run({ rest, words, asJson: false, context: { ...context, ...more } as never });
}

const complete = async (name: string, ...words: readonly string[]) =>
	((await find(name).complete?.(words)) ?? []).map(({ value }) => value);

/** Gives the session its conversation, with a task and an artifact. */
async function converse(): Promise<string> {
	const key = { sessionId: "session", engineId: "stream-json", cwd: "/work" };
	bindings.bind(key, { conversationId: ID, told: NOTHING_TOLD, undelivered: [], instructions: "", usage: null });
	await bindings.settled();
	const brain = folder.at("antigravity-cli", "brain", ID);
	const log = `${brain}/.system_generated/tasks/task-3.log`;
	mkdirSync(dirname(log), { recursive: true });
	writeFileSync(log, "");
	writeFileSync(`${brain}/plan.md`, "# Plan");
	return realpathSync(brain);
}

describe("without a conversation", () => {
	test.each([
		["tasks", { conversation: null, tasks: [] }],
		["subagents", { conversation: null, subagents: [] }],
		["artifacts", { conversation: null, artifacts: [] }],
	])("/agy %s has nothing to list", async (name, data) => {
		expect((await run(name, "")).data).toEqual(data);
		expect(await complete(name, "tail")).toEqual([]);
	});
});

describe("with one", () => {
	test("all is completed that may come next", async () => {
		await converse();
		expect(await complete("tasks")).toEqual(["tail"]);
		expect(await complete("tasks", "tail")).toEqual(["3"]);
		expect(await complete("tasks", "tail", "3")).toEqual([]);
		expect(await complete("artifacts")).toEqual(["open"]);
		expect(await complete("artifacts", "open")).toEqual(["plan.md"]);
		for (const name of ["patch-cleanup", "uninstall"]) expect(await complete(name)).toEqual([]); // No consent by Tab.
	});

	test("print mode gets the path and opens nothing", async () => {
		const brain = await converse();
		const answer = await run("artifacts", "open 1");
		expect(answer).toEqual({ text: `${brain}/plan.md`, data: { path: `${brain}/plan.md`, opened: false } });
	});

	test("a task without output says so", async () => {
		await converse();
		expect((await run("tasks", "tail task-3")).text).toBe("Task 3 has printed nothing.");
	});

	test.each([
		["tasks", "tali 3", "/agy tasks tali is unknown"],
		["tasks", "tail", "Which one?"],
		["tasks", "tail x", "Which one?"],
		["tasks", "tail 4", "Task 4 has no output file"],
		["artifacts", "opne plan.md", "/agy artifacts opne is unknown"],
		["artifacts", "open", "Which one?"],
		["artifacts", "open ../../etc/passwd", "is none of the artifacts"],
		["patch-cleanup", "yes", "/agy patch-cleanup yes is unknown"],
		["uninstall", "now", "/agy uninstall now is unknown"],
	])("/agy %s %s is refused", async (name, rest, message) => {
		await converse();
		await expect(run(name, rest)).rejects.toThrow(message);
	});
});

describe("/agy uninstall", () => {
	test("waits for no turn", async () => {
		await expect(run("uninstall", "--yes", { isIdle: () => false })).rejects.toThrow("A turn is running.");
	});

	test("refuses while other sessions of this process are there", async () => {
		opened = ["another"];
		expect(await run("uninstall", "--yes")).toMatchObject({
			level: "warning",
			text: "Nothing was removed: 1 other sessions of this pi use pi-agy. Close them, then try again.",
		});
	});

	test("asks where it can, and only lists where it cannot", async () => {
		mkdirSync(folder.at("data"));
		writeFileSync(folder.at("data/config.json"), "{}");
		const asked: string[] = [];
		const ui = { confirm: async (title: string, message: string) => asked.push(title, message) === 0 };
		expect((await run("uninstall", "", { hasUI: true, ui })).text).toMatch(/Nothing was removed\.$/);
		expect(asked).toEqual(["Remove everything of pi-agy's?", expect.stringContaining("data/config.json")]);
		expect((await run("uninstall", "")).text).toMatch(/To remove it: \/agy uninstall --yes$/);
		expect(await run("uninstall", "--yes")).toMatchObject({
			level: "info",
			data: { proof: { isClean: true, remaining: [] } },
		});
	});
});
