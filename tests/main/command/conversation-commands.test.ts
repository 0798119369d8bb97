import { writeFileSync } from "node:fs";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { conversationCommands } from "../../../src/main/command/conversation-commands.ts";
import { streamJsonEngine } from "../../../src/main/engines/stream-json.ts";
import { JsonStore } from "../../../src/main/json-store.ts";
import { SessionBindings } from "../../../src/main/sessions.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const HERE = { sessionId: "here", engineId: "stream-json", cwd: "/srv/demo" };
const [C1, C2, C3] = ["c0ffee00-0001", "c0ffee00-0002", "dead0000-0003"] as const;
let bindings: SessionBindings;
let isIdle: boolean;

beforeEach(() => {
	isIdle = true;
	bindings = new SessionBindings(new JsonStore(folder.at("sessions.json")), (error) => {
		throw error;
	});
});

afterEach(() => bindings.settled());

function bind(conversationId: string, key: Partial<typeof HERE> = {}): void {
	const told = { count: 2, hash: "abc" };
	bindings.bind({ ...HERE, ...key }, { conversationId, told, undelivered: [], instructions: "", usage: null });
}

/** What the commands see of pi. */
const context = () =>
	({
		cwd: HERE.cwd,
		isIdle: () => isIdle,
		sessionManager: { getSessionId: () => HERE.sessionId },
	}) as unknown as ExtensionCommandContext;

const commands = () =>
	conversationCommands({ config: { conversationsDir: folder.path }, engine: streamJsonEngine, bindings });

async function run(line: string) {
	const [name = "", ...words] = line.split(" ");
	const command = commands().find((candidate) => candidate.name === name);
	if (!command) throw new Error(`no command ${name}`);
	return command.run({ rest: words.join(" "), words, asJson: false, context: context() });
}

const found = () => bindings.find(HERE);

describe("clear", () => {
	test("forgets this session's conversation alone", async () => {
		bind(C1);
		bind(C2, { sessionId: "other" });
		expect((await run("clear")).data).toStrictEqual({ cleared: C1 });
		expect((await bindings.all()).map(({ conversationId }) => conversationId)).toStrictEqual([C2]);
		expect((await run("clear")).text).toBe("This session has no conversation yet.");
	});

	test("does not while a turn runs, which would write it down again", async () => {
		bind(C1);
		isIdle = false;
		await expect(run("clear")).rejects.toThrow("A turn is running");
		expect(await found()).not.toBeNull();
	});
});

describe("the list", () => {
	test("marks this session's, and tells name, session, engine and folder", async () => {
		expect((await run("conversations")).text).toBe("No session has a conversation yet.");
		bind(C1);
		bind(C2, { sessionId: "0123456789", engineId: "legacy-sqlite", cwd: "/srv/other" });
		await run(`conversations rename ${C2} the  good one`);
		const lines = (await run("conversations")).text.split("\n").toSorted();
		expect(lines[0]).toMatch(
			/^ {2}c0ffee00-0002 "the good one" {2}\d s ago, session 01234567, legacy-sqlite, in \/srv\/other$/,
		);
		expect(lines[1]).toMatch(/^\* c0ffee00-0001 {2}\d s ago, session here, in \/srv\/demo$/);
	});
});

describe("attach", () => {
	test("goes on with another session's conversation, which is told what was said here", async () => {
		bind(C1, { sessionId: "other" });
		expect((await run(`conversations attach ${C1}`)).data).toStrictEqual({ attached: C1 });
		expect(await found()).toMatchObject({ conversationId: C1, told: { count: 0, hash: "" } });
		const again = await run("conversations attach c0ff");
		expect(again.text).toBe("This session already goes on with it.");
	});

	test.each([
		["of another folder", { cwd: "/srv/other" }, "works in /srv/other. Start pi there"],
		["of another engine", { engineId: "legacy-sqlite" }, "AGY_ENGINE=legacy-sqlite"],
	])("refuses one %s", async (_name, key, message) => {
		bind(C1, { sessionId: "other", ...key });
		await expect(run(`conversations attach ${C1}`)).rejects.toThrow(message);
		expect(await found()).toBeNull();
	});

	test("refuses one that only agy knows, and says so", async () => {
		writeFileSync(folder.at(`${C3}.db`), "");
		await expect(run(`conversations attach ${C3}`)).rejects.toThrow("cannot be told from here");
		await expect(run("conversations attach ../../etc/passwd")).rejects.toThrow("No session has a conversation");
	});

	test("does not while a turn runs", async () => {
		bind(C1, { sessionId: "other" });
		isIdle = false;
		await expect(run(`conversations attach ${C1}`)).rejects.toThrow("A turn is running");
	});
});

describe("forget", () => {
	test("takes it from every session that has it", async () => {
		bind(C1);
		bind(C1, { sessionId: "other" });
		bind(C3, { sessionId: "third" });
		expect((await run(`conversations forget ${C1}`)).data).toStrictEqual({ forgotten: C1, sessions: 2 });
		expect((await bindings.all()).map(({ conversationId }) => conversationId)).toStrictEqual([C3]);
	});
});

describe("which one is meant", () => {
	test.each([
		["nothing", "", "Which conversation?"],
		["a start that several share", "c0ffee", "2 conversations begin with c0ffee"],
		["too short a start", "dea", "No session has a conversation dea"],
		["an unknown one", "ffffffff", "No session has a conversation ffffffff"],
	])("is refused for %s", async (_name, id, message) => {
		bind(C1);
		bind(C2, { sessionId: "b" });
		bind(C3, { sessionId: "c" });
		await expect(run(`conversations forget ${id}`.trim())).rejects.toThrow(message);
		expect(await bindings.all()).toHaveLength(3);
	});

	test("may be said by its name", async () => {
		bind(C1);
		await run(`conversations rename ${C1} good`);
		expect((await run("conversations forget good")).data).toMatchObject({ forgotten: C1 });
	});

	test("an action that is none is named with those that are", async () => {
		await expect(run("conversations delete x")).rejects.toThrow("delete is unknown. Use /agy conversations");
	});

	test("a name has its limits", async () => {
		bind(C1);
		await expect(run(`conversations rename ${C1} ${"x".repeat(61)}`)).rejects.toThrow("at most 60");
	});
});

test("what may come next is offered: the actions, then the conversations", async () => {
	bind(C1);
	const command = commands().find(({ name }) => name === "conversations");
	expect((await command?.complete?.([]))?.map(({ value }) => value)).toStrictEqual(["attach", "rename", "forget"]);
	expect(await command?.complete?.(["attach"])).toStrictEqual([{ value: C1, about: "/srv/demo" }]);
	expect(await command?.complete?.(["attach", C1])).toStrictEqual([]);
});
