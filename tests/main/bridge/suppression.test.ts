import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serverNameOf } from "../../../src/main/bridge/bridge-record.ts";
import { ownIdentity } from "../../../src/main/processes/proof.ts";
import { openBridgeHome } from "../../support/bridge-home.ts";
import { type Child, ChildNursery } from "../../support/child-process.ts";
import { until } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";
import { isRunning, killQuietly } from "../../support/process-table.ts";

const PROCESS = fileURLToPath(new URL("../../support/bridge-process.ts", import.meta.url));
const HOUR_MS = 60 * 60_000;

const folder = new Folder();
const nursery = new ChildNursery();
let home: ReturnType<typeof openBridgeHome>;

beforeEach(() => {
	home = openBridgeHome(folder.path);
});

afterEach(() => home.registration.close());

const configPath = () => folder.at("gemini", "config", "mcp_config.json");
const recordPath = () => folder.at("data", "bridges.json");
const record = () => JSON.parse(readFileSync(recordPath(), "utf8"));

/** For each server in agy's file, whether it is switched off. */
function isOff(): Record<string, boolean> {
	const { mcpServers } = JSON.parse(readFileSync(configPath(), "utf8")) as {
		readonly mcpServers: Readonly<Record<string, { readonly disabled?: boolean }>>;
	};
	return Object.fromEntries(Object.entries(mcpServers).map(([name, server]) => [name, server.disabled === true]));
}

async function register(session: string): Promise<string> {
	const serverName = await serverNameOf(session);
	await home.registration.register({ serverName, url: "http://127.0.0.1:1/mcp", headers: { a: "b" } });
	return serverName;
}

function start(what: string): Promise<Child> {
	return nursery.run(process.execPath, ["--no-warnings", PROCESS, folder.path, what], { lines: 1 });
}

async function kill({ pid }: Child): Promise<void> {
	killQuietly(pid);
	await until("its end", () => !isRunning(pid));
}

describe("while a delegated run is held", () => {
	test("the servers of all processes are off, later ones too, and those of others stay as they are", async () => {
		const child = await start("register");
		const theirs = child.printed().trim();
		const early = await register("early");
		const text = readFileSync(configPath(), "utf8").replace('"mcpServers": {', '"mcpServers": {"github": {},');
		writeFileSync(configPath(), text);
		const release = await home.suppression.hold();
		expect(isOff()).toStrictEqual({ github: false, [early]: true, [theirs]: true });
		const late = await register("late");
		const other = await start("register");
		const last = other.printed().trim();
		expect(isOff()).toStrictEqual({ github: false, [early]: true, [theirs]: true, [late]: true, [last]: true });
		await release();
		expect(isOff()).toStrictEqual({ github: false, [early]: false, [theirs]: false, [late]: false, [last]: false });
	});

	test("by several, the last one switches on", async () => {
		const name = await register("s");
		const second = openBridgeHome(folder.path).suppression;
		const releases = await Promise.all([home.suppression.hold(), home.suppression.hold(), second.hold()]);
		for (const release of releases) {
			expect(isOff()).toStrictEqual({ [name]: true });
			await release();
			await release();
		}
		expect(isOff()).toStrictEqual({ [name]: false });
		expect(record().holders).toStrictEqual({});
		const again = await home.suppression.hold();
		expect(isOff()).toStrictEqual({ [name]: true });
		await again();
	});

	test("holds and releases that cross end as the last of them says", async () => {
		const name = await register("s");
		const rounds = Array.from({ length: 10 }, async () => (await home.suppression.hold())());
		await Promise.all(rounds);
		expect(isOff()).toStrictEqual({ [name]: false });
		const [release, ...others] = await Promise.all(Array.from({ length: 5 }, () => home.suppression.hold()));
		expect(isOff()).toStrictEqual({ [name]: true });
		await Promise.all(others.map((other) => other()));
		expect(isOff()).toStrictEqual({ [name]: true });
		await release?.();
		expect(isOff()).toStrictEqual({ [name]: false });
	});

	test("nothing is written where there is no server, and a file that came later is seen to", async () => {
		const release = await home.suppression.hold();
		expect(existsSync(configPath())).toBe(false);
		const name = await register("s");
		expect(isOff()).toStrictEqual({ [name]: true });
		await release();
		expect(isOff()).toStrictEqual({ [name]: false });
		await home.registration.close();
		expect(existsSync(configPath())).toBe(false);
	});
});

describe("a holder in another process", () => {
	test("that lives keeps the servers off, whatever this one does", async () => {
		const child = await start("hold");
		const name = await register("s");
		await (await home.suppression.hold())();
		await home.registration.sweep();
		expect(isOff()).toStrictEqual({ [name]: true });
		expect(Object.values(record().holders)).toMatchObject([child.identity]);
		child.process.kill("SIGTERM");
		await child.exited;
		expect(isOff()).toStrictEqual({ [name]: false });
	});

	test.each([
		["sweep", () => home.registration.sweep()],
		["registration", () => register("t")],
		["hold that ends", async () => (await home.suppression.hold())()],
	])("that was killed is made up for by the next %s", async (_name, repair) => {
		const name = await register("s");
		const child = await start("hold");
		await kill(child);
		expect(isOff()).toStrictEqual({ [name]: true });
		await repair();
		expect(new Set(Object.values(isOff()))).toStrictEqual(new Set([false]));
		expect(record().holders).toStrictEqual({});
	});

	test.each([
		["for less than a day counts", -23 * HOUR_MS, true],
		["for more than a day does not", -25 * HOUR_MS, false],
		["from a time to come does not", 25 * HOUR_MS, false],
	])("that has held %s", async (_name, offsetMs, expected) => {
		const holder = { ...(await ownIdentity()), sinceMs: Date.now() + offsetMs };
		mkdirSync(folder.at("data"));
		writeFileSync(recordPath(), JSON.stringify({ holders: { someone: holder, damaged: { pid: 1 } } }));
		const name = await register("s");
		expect(isOff()).toStrictEqual({ [name]: expected });
	});
});

describe("a hold that fails", () => {
	test("says so, holds nothing, and the next one works", async () => {
		const name = await register("s");
		const text = readFileSync(configPath(), "utf8");
		writeFileSync(configPath(), "{");
		const outcomes = await Promise.allSettled([home.suppression.hold(), home.suppression.hold()]);
		expect(outcomes).toMatchObject(Array(2).fill({ status: "rejected", reason: { code: "bad-setting" } }));
		expect(readFileSync(configPath(), "utf8")).toBe("{");
		expect(record().holders).toStrictEqual({});
		writeFileSync(configPath(), text);
		const release = await home.suppression.hold();
		expect(isOff()).toStrictEqual({ [name]: true });
		writeFileSync(configPath(), "{");
		await expect(release()).rejects.toMatchObject({ code: "bad-setting" });
		const off = text.replace('"headers"', '"disabled": true, "headers"');
		writeFileSync(configPath(), off);
		await home.registration.sweep();
		expect(isOff()).toStrictEqual({ [name]: false });
	});
});

test("a server the user has edited keeps what was added, and is private", async () => {
	const name = await register("s");
	const text = readFileSync(configPath(), "utf8").replace('"headers"', '"disabledTools": ["bash"], "headers"');
	writeFileSync(configPath(), text, { mode: 0o644 });
	const release = await home.suppression.hold();
	expect(JSON.parse(readFileSync(configPath(), "utf8")).mcpServers[name]).toMatchObject({
		disabled: true,
		disabledTools: ["bash"],
	});
	expect(statSync(configPath()).mode & 0o777).toBe(0o600);
	await release();
});
