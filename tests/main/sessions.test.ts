import { writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { JsonStore } from "../../src/main/json-store.ts";
import { SessionBindings, type SessionKey } from "../../src/main/sessions.ts";
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
const file = async () => JSON.parse(await readFile(folder.at("sessions.json"), "utf8"));

describe("a binding", () => {
	test("is found at once, and by the next pi", async () => {
		const bindings = open();
		expect(await bindings.find(key())).toBeNull();
		bindings.bind(key(), "c1");
		expect(await bindings.find(key())).toBe("c1");
		await bindings.settled();
		expect(await open().find(key())).toBe("c1");
	});

	test.each([
		["another session", { sessionId: "s2" }],
		["another engine", { engineId: "acp" }],
		["another workspace", { cwd: "/srv/other" }],
	])("is none for %s", async (_name, other) => {
		const bindings = open();
		bindings.bind(key(), "c1");
		await bindings.settled();
		expect(await bindings.find(key(other))).toBeNull();
		expect(await open().find(key(other))).toBeNull();
	});

	test("is replaced by a later one", async () => {
		const bindings = open();
		bindings.bind(key(), "c1");
		bindings.bind(key(), "c2");
		await bindings.settled();
		expect([await bindings.find(key()), await open().find(key())]).toStrictEqual(["c2", "c2"]);
	});

	test("that is the same is not written again", async () => {
		const bindings = open();
		bindings.bind(key(), "c1");
		await bindings.settled();
		writeFileSync(folder.at("sessions.json"), "{}");
		bindings.bind(key(), "c1");
		await bindings.settled();
		expect(await file()).toStrictEqual({});
	});

	test("can be undone, also one of an earlier pi", async () => {
		const earlier = open();
		earlier.bind(key(), "c1");
		await earlier.settled();
		const bindings = open();
		bindings.unbind(key());
		expect(await bindings.find(key())).toBeNull();
		await bindings.settled();
		expect(await open().find(key())).toBeNull();
	});

	test("of one pi wins over what another wrote meanwhile, and both are kept", async () => {
		const [one, two] = [open(), open()];
		one.bind(key({ sessionId: "a" }), "ca");
		two.bind(key({ sessionId: "b" }), "cb");
		await Promise.all([one.settled(), two.settled()]);
		expect(await one.find(key({ sessionId: "b" }))).toBe("cb");
		expect(Object.keys((await file()).sessions).toSorted()).toStrictEqual(["stream-json:a", "stream-json:b"]);
	});
});

describe("the file", () => {
	test("keeps what a later version wrote", async () => {
		await writeFile(folder.at("sessions.json"), '{"later":1}');
		const bindings = open();
		bindings.bind(key(), "c1");
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

	test("holds the newest five hundred", async () => {
		const sessions = Object.fromEntries(
			Array.from({ length: 510 }, (_, index) => [
				`stream-json:old-${index}`,
				{ conversationId: `c${index}`, cwd: "/srv/demo", boundAtMs: index },
			]),
		);
		await writeFile(folder.at("sessions.json"), JSON.stringify({ sessions }));
		const bindings = open();
		bindings.bind(key(), "c1");
		await bindings.settled();
		const kept = (await file()).sessions;
		expect(Object.keys(kept)).toHaveLength(500);
		expect(await open().find(key())).toBe("c1");
		expect(await open().find(key({ sessionId: "old-509" }))).toBe("c509");
		expect(await open().find(key({ sessionId: "old-10" }))).toBeNull();
	});
});

test("a disk that cannot be written is reported, and the binding stands for this pi", async () => {
	writeFileSync(folder.at("in-the-way"), "");
	const seen: unknown[] = [];
	const bindings = new SessionBindings(new JsonStore(folder.at("in-the-way", "sessions.json")), (error) =>
		seen.push(error),
	);
	bindings.bind(key(), "c1");
	await bindings.settled();
	await new Promise(setImmediate);
	expect(seen).toHaveLength(1);
	expect(await bindings.find(key())).toBe("c1");
});
