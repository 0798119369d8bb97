import { writeFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../src/main/json-store.ts";
import { type Binding, SessionBindings, type SessionKey } from "../../src/main/sessions.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";

const folder = new Folder();
let errors: unknown[];

beforeEach(() => {
	errors = [];
});

afterEach(() => expect(errors).toStrictEqual([]));

/** The bindings as a pi that has just started sees them. */
const open = () => new SessionBindings(new JsonStore(folder.at("sessions.json")), (error) => errors.push(error));
const key = (more: Partial<SessionKey> = {}): SessionKey => ({
	sessionId: "s1",
	engineId: "stream-json",
	cwd: "/srv/demo",
	...more,
});
const binding = (conversationId: string, more: Partial<Binding> = {}): Binding => ({
	conversationId,
	told: { count: 2, hash: "abc" },
	undelivered: [],
	instructions: "",
	usage: null,
	...more,
});
const file = async () => JSON.parse(await readFile(folder.at("sessions.json"), "utf8"));

describe("a binding", () => {
	test("is found at once, and by the next pi", async () => {
		const bindings = open();
		expect(await bindings.find(key())).toBeNull();
		bindings.bind(key(), binding("c1"));
		expect(await bindings.find(key())).toMatchObject(binding("c1"));
		await bindings.settled();
		expect(await open().find(key())).toMatchObject(binding("c1"));
	});

	test.each([
		["another session", { sessionId: "s2" }],
		["another engine", { engineId: "acp" }],
		["another workspace", { cwd: "/srv/other" }],
	])("is none for %s", async (_name, other) => {
		const bindings = open();
		bindings.bind(key(), binding("c1"));
		await bindings.settled();
		expect(await bindings.find(key(other))).toBeNull();
		expect(await open().find(key(other))).toBeNull();
	});

	test("is replaced by a later one", async () => {
		const bindings = open();
		bindings.bind(key(), binding("c1"));
		bindings.bind(key(), binding("c2"));
		await bindings.settled();
		for (const seen of [bindings, open()]) expect(await seen.find(key())).toMatchObject(binding("c2"));
	});

	test("keeps what agy was told, what it was not, its instructions and its counters", async () => {
		const whole = binding("c1", {
			told: { count: 12, hash: "h" },
			undelivered: ["Use tabs.", "And é 😀."],
			instructions: "i",
			usage: { input: 1, output: 2, thinking: 3, cacheRead: 4 },
		});
		const bindings = open();
		bindings.bind(key(), whole);
		await bindings.settled();
		expect(await open().find(key())).toMatchObject(whole);
	});

	test("that changes many times at once is written once or twice, and last as it is", async () => {
		const store = new JsonStore(folder.at("sessions.json"));
		let writes = 0;
		const update = store.update.bind(store);
		store.update = (change) => {
			writes++;
			return update(change);
		};
		const bindings = new SessionBindings(store, (error) => errors.push(error));
		for (let count = 1; count <= 50; count++)
			bindings.bind(key(), binding("c1", { told: { count, hash: `h${count}` } }));
		await bindings.settled();
		expect(writes).toBeLessThanOrEqual(2);
		expect(await open().find(key())).toMatchObject({ told: { count: 50, hash: "h50" } });
	});

	test("can be undone, also one of an earlier pi", async () => {
		const earlier = open();
		earlier.bind(key(), binding("c1"));
		await earlier.settled();
		const bindings = open();
		bindings.unbind(key());
		expect(await bindings.find(key())).toBeNull();
		await bindings.settled();
		expect(await open().find(key())).toBeNull();
	});

	test("of one pi wins over what another wrote meanwhile, and both are kept", async () => {
		const [one, two] = [open(), open()];
		one.bind(key({ sessionId: "a" }), binding("ca"));
		two.bind(key({ sessionId: "b" }), binding("cb"));
		await Promise.all([one.settled(), two.settled()]);
		expect(await one.find(key({ sessionId: "b" }))).toMatchObject(binding("cb"));
		expect(Object.keys((await file()).sessions).toSorted()).toStrictEqual(["stream-json:a", "stream-json:b"]);
	});
});

describe("the file", () => {
	test("keeps what a later version wrote", async () => {
		await writeFile(folder.at("sessions.json"), '{"later":1}');
		const bindings = open();
		bindings.bind(key(), binding("c1"));
		await bindings.settled();
		expect(await file()).toMatchObject({ later: 1, version: 1 });
	});

	test.each([
		["nothing", "{}"],
		["damage", "{oops"],
		["no object", '{"sessions":"x"}'],
		["null", '{"sessions":null}'],
		["entries of another shape", '{"sessions":{"stream-json:s1":null,"x":1,"y":{"conversationId":1,"cwd":"/"}}}'],
	])("with %s holds no binding", async (_name, content) => {
		await writeFile(folder.at("sessions.json"), content);
		expect(await open().find(key())).toBeNull();
	});

	test.each([
		["damage", { undelivered: "x", instructions: 1, usage: { input: 1 } }, {}],
		["some texts among other things", { undelivered: ["a", 1, null, "b"] }, { undelivered: ["a", "b"] }],
		["half of its counters", { usage: { input: 1, output: 2, thinking: 3, cacheRead: "4" } }, {}],
	])("with %s beside a conversation keeps what can be read", async (_name, more, kept) => {
		const sessions = { "stream-json:s1": { ...binding("c1"), cwd: "/srv/demo", ...more } };
		await writeFile(folder.at("sessions.json"), JSON.stringify({ sessions }));
		expect(await open().find(key())).toMatchObject(
			binding("c1", { undelivered: [], instructions: "", usage: null, ...kept }),
		);
	});

	test.each([
		["nothing", undefined],
		["damage", { count: "2", hash: "abc" }],
		["a count alone", { count: 2 }],
	])(
		"with %s in place of what the conversation was told holds no binding: nothing can be proven",
		async (_name, told) => {
			const sessions = { "stream-json:s1": { ...binding("c1"), cwd: "/srv/demo", told } };
			await writeFile(folder.at("sessions.json"), JSON.stringify({ sessions }));
			expect(await open().find(key())).toBeNull();
		},
	);

	test("holds the newest five hundred", async () => {
		const sessions = Object.fromEntries(
			Array.from({ length: 510 }, (_, index) => [
				`stream-json:old-${index}`,
				{ ...binding(`c${index}`), cwd: "/srv/demo", boundAtMs: index },
			]),
		);
		await writeFile(folder.at("sessions.json"), JSON.stringify({ sessions }));
		const bindings = open();
		bindings.bind(key(), binding("c1"));
		await bindings.settled();
		const kept = (await file()).sessions;
		expect(Object.keys(kept)).toHaveLength(500);
		expect(await open().find(key())).toMatchObject(binding("c1"));
		expect(await open().find(key({ sessionId: "old-509" }))).toMatchObject(binding("c509"));
		expect(await open().find(key({ sessionId: "old-10" }))).toBeNull();
	});
});

describe("a disk that cannot be written", () => {
	const path = () => folder.at("in-the-way", "sessions.json");
	const openThere = (seen: unknown[]) => new SessionBindings(new JsonStore(path()), (error) => seen.push(error));

	test("is reported, and the binding stands for this pi", async () => {
		writeFileSync(folder.at("in-the-way"), "");
		const seen: unknown[] = [];
		const bindings = openThere(seen);
		bindings.bind(key(), binding("c1"));
		await bindings.settled();
		expect(seen).toHaveLength(2); // The change, and the last try.
		expect(await bindings.find(key())).toMatchObject(binding("c1"));
	});

	test.each<[string, (bindings: SessionBindings) => void]>([
		["the next change", (bindings) => bindings.bind(key({ sessionId: "s2" }), binding("c2"))],
		["the end of the session", () => {}],
	])("is tried again with %s", async (_name, change) => {
		writeFileSync(folder.at("in-the-way"), "");
		const seen: unknown[] = [];
		const bindings = openThere(seen);
		bindings.bind(key(), binding("c1"));
		await until("the failed write is reported", () => seen.length === 1);
		await rm(folder.at("in-the-way"));
		change(bindings);
		await bindings.settled();
		expect(seen).toHaveLength(1);
		expect(await openThere(seen).find(key())).toMatchObject(binding("c1"));
	});

	test("is tried again also when it is the file that could not be replaced", async () => {
		let isFull = true;
		class FullDisk extends JsonStore {
			override async update(change: Parameters<JsonStore["update"]>[0]): Promise<void> {
				if (!isFull) return super.update(change);
				await change(await this.read());
				throw new Error("ENOSPC");
			}
		}
		const seen: unknown[] = [];
		const bindings = new SessionBindings(new FullDisk(folder.at("sessions.json")), (error) => seen.push(error));
		bindings.bind(key(), binding("c1"));
		await until("the failed write is reported", () => seen.length === 1);
		isFull = false;
		await bindings.settled();
		expect(await open().find(key())).toMatchObject(binding("c1"));
	});
});

describe("the list of all", () => {
	test("holds every session's conversation with its name, newest first, also what is not written yet", async () => {
		const before = open();
		before.bind(key(), binding("c1"));
		await before.settled();
		await before.rename("c1", "the good one");
		const bindings = open();
		bindings.bind(key({ sessionId: "a:b", engineId: "legacy-sqlite", cwd: "/srv/other" }), binding("c2"));
		expect(await bindings.all()).toMatchObject([
			{ conversationId: "c2", engineId: "legacy-sqlite", sessionId: "a:b", cwd: "/srv/other", name: "" },
			{ conversationId: "c1", engineId: "stream-json", sessionId: "s1", cwd: "/srv/demo", name: "the good one" },
		]);
		bindings.unbind(key());
		expect((await bindings.all()).map(({ conversationId }) => conversationId)).toStrictEqual(["c2"]);
	});

	test("keeps a name while its conversation is bound to any session, and not longer", async () => {
		const bindings = open();
		bindings.bind(key(), binding("c1"));
		bindings.bind(key({ sessionId: "s2" }), binding("c1"));
		await bindings.settled();
		await bindings.rename("c1", "x");
		bindings.unbind(key());
		await bindings.settled();
		expect((await file()).names).toStrictEqual({ c1: "x" });
		bindings.unbind(key({ sessionId: "s2" }));
		await bindings.settled();
		expect((await file()).names).toBeUndefined();
	});

	test("takes a name away again", async () => {
		const bindings = open();
		bindings.bind(key(), binding("c1"));
		await bindings.settled();
		await bindings.rename("c1", "x");
		await bindings.rename("c1", "");
		expect(await bindings.all()).toMatchObject([{ name: "" }]);
	});
});
