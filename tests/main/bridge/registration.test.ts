import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { lstat, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isOurs, serverNameOf } from "../../../src/main/bridge/bridge-record.ts";
import { McpConfigFile } from "../../../src/main/bridge/mcp-config-file.ts";
import { type Registered, Registration } from "../../../src/main/bridge/registration.ts";
import { SharedServers } from "../../../src/main/bridge/shared-servers.ts";
import { JsonStore } from "../../../src/main/json-store.ts";
import { ownIdentity } from "../../../src/main/processes/proof.ts";
import { readMcpConfig } from "../../agy-sim/integrations/mcp-config.ts";
import { openBridgeHome } from "../../support/bridge-home.ts";
import { type Child, ChildNursery } from "../../support/child-process.ts";
import { until } from "../../support/condition.ts";
import { Folder } from "../../support/folder.ts";
import { isRunning, killQuietly } from "../../support/process-table.ts";

const PROCESS = fileURLToPath(new URL("../../support/bridge-process.ts", import.meta.url));
const URL_OF_OURS = "http://127.0.0.1:4567/mcp";
const HEADERS = { authorization: "Bearer secret" };
const MINE =
	'\uFEFF{\r\n  // my servers\r\n  "mcpServers": {\r\n    "github": {"serverUrl": "x",}, // keep\r\n  },\r\n}\r\n';
const NO_PID = 2 ** 22 + 1; // Above the highest pid that Linux gives.

const folder = new Folder();
const nursery = new ChildNursery();
let home: ReturnType<typeof openBridgeHome>;

beforeEach(() => {
	home = openBridgeHome(folder.path);
});

afterEach(() => home.registration.close().catch(() => {})); // The tests of a file that cannot be used leave one behind.

const configPath = () => folder.at("gemini", "config", "mcp_config.json");
const config = () => (existsSync(configPath()) ? readFileSync(configPath(), "utf8") : null);
const servers = () => JSON.parse(config() ?? "{}").mcpServers ?? {};
const record = () => JSON.parse(readFileSync(folder.at("data", "bridges.json"), "utf8"));
const namesIn = (...path: string[]) =>
	existsSync(folder.at(...path)) ? readdirSync(folder.at(...path)).toSorted() : [];
const modeOf = (path: string) => statSync(path).mode & 0o777;

function putConfig(text: string | Uint8Array): void {
	mkdirSync(dirname(configPath()), { recursive: true });
	writeFileSync(configPath(), text, { mode: 0o644 });
}

async function register(session = "s", registration = home.registration): Promise<Registered & { name: string }> {
	const name = await serverNameOf(session);
	const registered = await registration.register({ serverName: name, url: URL_OF_OURS, headers: HEADERS });
	return { name, addDir: registered.addDir, remove: () => registered.remove() };
}

function start(what: string, ...more: string[]): Promise<Child> {
	return nursery.run(process.execPath, ["--no-warnings", PROCESS, folder.path, what, ...more], { lines: 1 });
}

async function kill({ pid }: Child): Promise<void> {
	killQuietly(pid);
	await until("its end", () => !isRunning(pid));
}

describe("the name of a server", () => {
	test("is its session's in this process, and recognised", async () => {
		const name = await serverNameOf("s");
		expect(name).toMatch(/^[a-z0-9_]{6,24}$/);
		expect(isOurs(name)).toBe(true);
		expect(await serverNameOf("s")).toBe(name);
		expect(await serverNameOf("t")).not.toBe(name);
	});

	test.each([
		"pi_1",
		"pi_x_0123abcd",
		"pi_1_0123abcd_x",
		"xpi_1_0123abcd",
		"pi-bridge-1",
		"pi_1_0123ABCD",
		"../pi_1_0123abcd",
	])("is not %s", (name) => expect(isOurs(name)).toBe(false));
});

describe("a registered bridge", () => {
	test("stands in a private folder and in agy's file, under one name, readable by nobody else", async () => {
		const { name, addDir } = await register();
		const ours = { [name]: { serverUrl: URL_OF_OURS, headers: HEADERS } };
		const ownFile = `${addDir}/.agents/mcp_config.json`;
		expect(JSON.parse(readFileSync(ownFile, "utf8"))).toStrictEqual({ mcpServers: ours });
		expect(servers()).toStrictEqual(ours);
		for (const path of [ownFile, configPath()])
			expect(readMcpConfig(path, false)).toMatchObject({ ok: true, servers: [{ name, serverUrl: URL_OF_OURS }] });
		expect(dirname(addDir)).toBe(folder.at("data", "bridge"));
		for (const path of [folder.at("data", "bridge"), addDir, dirname(ownFile), dirname(configPath())])
			expect([path, modeOf(path)]).toStrictEqual([path, 0o700]);
		for (const path of [ownFile, configPath(), folder.at("data", "bridges.json")])
			expect([path, modeOf(path)]).toStrictEqual([path, 0o600]);
		expect(record().servers).toStrictEqual({ [name]: await ownIdentity() });
		expect(readFileSync(folder.at("data", "bridges.json"), "utf8")).not.toContain("secret");
	});

	test("leaves every byte of the user's own file, and makes it private while the secret is in it", async () => {
		putConfig(MINE);
		const { name, remove } = await register();
		expect(config()).toBe(
			MINE.replace(
				`"mcpServers": {`,
				`"mcpServers": {\r\n    ${JSON.stringify(name)}: ${JSON.stringify({ serverUrl: URL_OF_OURS, headers: HEADERS })},`,
			),
		);
		expect(modeOf(configPath())).toBe(0o600);
		await remove();
		expect(config()).toBe(MINE);
	});

	test.each([
		["no file", null],
		["an empty file", ""],
		["an empty object", "{}"],
		["no servers", '{"other": [1,]}'],
		["empty servers", '{\n\t"mcpServers": {\n\t}\n}'],
		["servers of the user", MINE],
	])("is gone without a trace, with %s before", async (_name, text) => {
		if (text !== null) putConfig(text);
		const [first, second] = [await register("1"), await register("2")];
		mkdirSync(folder.at("gemini", "antigravity-cli", "mcp", first.name), { recursive: true });
		mkdirSync(folder.at("gemini", "antigravity-cli", "mcp", "github"), { recursive: true });
		await first.remove();
		expect(config()).toContain(second.name);
		await first.remove();
		await second.remove();
		expect(config()).toBe(text);
		expect(namesIn("gemini", "config")).toStrictEqual(text === null ? [] : ["mcp_config.json"]);
		expect(namesIn("data", "bridge")).toStrictEqual([]);
		expect(namesIn("gemini", "antigravity-cli", "mcp")).toStrictEqual(["github"]);
		expect(record()).toStrictEqual({ version: 1, servers: {}, holders: {}, made: {} });
	});

	test("goes with all others of its process when that closes, those under way too, and may then be removed again", async () => {
		putConfig(MINE);
		const registered = await register("1");
		const underWay = register("2");
		await until("its start", () => namesIn("data", "bridge").length === 2);
		await home.registration.close();
		expect(config()).toBe(MINE);
		expect(namesIn("data", "bridge")).toStrictEqual([]);
		await (await underWay).remove();
		await registered.remove();
		await home.registration.close();
		expect(config()).toBe(MINE);
	});

	test("can come again under its name, and is not removed by who had the name before", async () => {
		const first = await register();
		await expect(register()).rejects.toThrow(/registered already/);
		await first.remove();
		const second = await register();
		await first.remove();
		expect(Object.keys(servers())).toStrictEqual([second.name]);
		expect(namesIn("data", "bridge")).toHaveLength(1);
	});

	test("has no name of others", async () => {
		const foreign = { serverName: "github", url: URL_OF_OURS, headers: {} };
		await expect(home.registration.register(foreign)).rejects.toThrow(/no name of serverNameOf/);
		expect(namesIn()).toStrictEqual([]);
	});

	test("keeps a link to the file, and writes where it points", async () => {
		mkdirSync(folder.at("dotfiles"));
		mkdirSync(folder.at("gemini", "config"), { recursive: true });
		symlinkSync("../../dotfiles/mcp.json", configPath());
		const made = await register();
		expect(readFileSync(folder.at("dotfiles", "mcp.json"), "utf8")).toContain(made.name);
		await made.remove();
		expect(namesIn("dotfiles")).toStrictEqual([]);
		writeFileSync(folder.at("dotfiles", "mcp.json"), MINE);
		const { name, remove } = await register();
		expect((await lstat(configPath())).isSymbolicLink()).toBe(true);
		expect(readFileSync(folder.at("dotfiles", "mcp.json"), "utf8")).toContain(name);
		await remove();
		expect(readFileSync(folder.at("dotfiles", "mcp.json"), "utf8")).toBe(MINE);
		expect(namesIn("dotfiles")).toStrictEqual(["mcp.json"]);
		expect(namesIn("gemini", "config")).toStrictEqual(["mcp_config.json"]);
	});

	test("does not take away what a record of another time says was made, and the user has by now", async () => {
		await register();
		const { made } = record();
		expect(made).toStrictEqual({ [configPath()]: "file" });
		await home.registration.close();
		writeFileSync(folder.at("data", "bridges.json"), JSON.stringify({ made: { [configPath()]: "servers" } }));
		putConfig('{"mcpServers": {}}');
		await (await register()).remove();
		expect(config()).toBe('{"mcpServers": {}}');
	});

	test("keeps what the user writes into the file meanwhile", async () => {
		const { name, remove } = await register();
		const mine = (config() ?? "").replace("}\n}", '},\n\t"b": 1, // mine\n}');
		putConfig(mine);
		await remove();
		expect(config()).toBe('{\n\t"mcpServers": {},\n\t"b": 1, // mine\n}\n');
		expect(mine).toContain(name);
	});
});

describe("a file that cannot be used", () => {
	test.each([
		["a corrupt one", '{"mcpServers": {', /no JSON with comments/],
		["a list of servers", '{"mcpServers": []}', /is no JSON object/],
		["bytes that are no UTF-8", Buffer.from('{"a": "\xff"}', "latin1"), /it is no UTF-8/],
	])("stays untouched: %s", async (_name, content, reason) => {
		putConfig(content);
		const before = statSync(configPath());
		const refusal = register();
		await expect(refusal).rejects.toThrow(reason);
		await expect(refusal).rejects.toMatchObject({
			code: "bad-setting",
			message: expect.stringContaining(configPath()),
		});
		await expect(home.suppression.hold()).rejects.toMatchObject({ code: "bad-setting" });
		await home.registration.sweep();
		expect(readFileSync(configPath())).toStrictEqual(Buffer.from(content as string));
		expect(statSync(configPath())).toMatchObject({ mtimeMs: before.mtimeMs, mode: before.mode, ino: before.ino });
		expect(namesIn("gemini", "config")).toStrictEqual(["mcp_config.json"]);
		expect(namesIn("data", "bridge")).toStrictEqual([]);
	});

	test("that became so is left alone at the end, while the private folder goes; the entry goes once it is repaired", async () => {
		const { name, remove } = await register();
		const text = config() ?? "";
		putConfig(text.slice(0, -2));
		await expect(remove()).rejects.toMatchObject({ code: "bad-setting" });
		expect(config()).toBe(text.slice(0, -2));
		expect(namesIn("data", "bridge")).toStrictEqual([]);
		expect(Object.keys(record().servers)).toStrictEqual([name]);
		putConfig(text);
		await home.registration.close();
		expect(config()).toBe(null);
	});

	test("that became so is tried again with the next change, also for the same session", async () => {
		const [one, other] = [await register("one"), await register("other")];
		const text = config() ?? "";
		putConfig(text.slice(0, -2));
		await expect(one.remove()).rejects.toMatchObject({ code: "bad-setting" });
		putConfig(text);
		await other.remove();
		expect(config()).toBe(null);
		expect(record().servers).toStrictEqual({});

		const again = await register("one");
		const textNow = config() ?? "";
		putConfig(textNow.slice(0, -2));
		await expect(again.remove()).rejects.toMatchObject({ code: "bad-setting" });
		await expect(register("one")).rejects.toMatchObject({ code: "bad-setting" });
		putConfig(textNow);
		const last = await register("one");
		expect(namesIn("data", "bridge")).toStrictEqual([last.addDir.split("/").at(-1)]);
		expect(Object.keys(servers())).toStrictEqual([last.name]);
		await again.remove();
		expect(Object.keys(servers())).toStrictEqual([last.name]);
	});

	test("when it comes to writing leaves nothing of ours, in the record neither", async () => {
		class Obstructed extends McpConfigFile {
			override change(...[work, done]: Parameters<McpConfigFile["change"]>): Promise<void> {
				return super.change(async (text, target) => {
					const next = await work(text, target);
					mkdirSync(target);
					return next;
				}, done);
			}
		}
		const shared = new SharedServers(new JsonStore(folder.at("data", "bridges.json")), new Obstructed(configPath()));
		const places = { privateRoot: folder.at("data", "bridge"), schemaRoot: folder.at("schemas") };
		await expect(register("s", new Registration(shared, places))).rejects.toMatchObject({ code: "bad-setting" });
		expect(namesIn("gemini", "config")).toStrictEqual(["mcp_config.json"]);
		expect(namesIn("data", "bridge")).toStrictEqual([]);
		expect(record().servers).toStrictEqual({});
	});

	test("for want of a folder is said to be so", async () => {
		writeFileSync(folder.at("gemini"), "in the way");
		await expect(register()).rejects.toMatchObject({ code: "not-writable" });
		expect(namesIn("data", "bridge")).toStrictEqual([]);
		await rm(folder.at("gemini"));
		await register();
	});

	test("for want of a disk that failed in the middle leaves no folder once the disk works again", async () => {
		const data = folder.at("data");
		class Failing extends JsonStore {
			override async update(): Promise<void> {
				renameSync(data, folder.at("away"));
				writeFileSync(data, "");
				throw new Error("the disk fails");
			}
		}
		const shared = new SharedServers(new Failing(folder.at("data", "bridges.json")), new McpConfigFile(configPath()));
		const places = { privateRoot: folder.at("data", "bridge"), schemaRoot: folder.at("schemas") };
		await expect(register("s", new Registration(shared, places))).rejects.toThrow("the disk fails");
		rmSync(data);
		renameSync(folder.at("away"), data);
		expect(namesIn("data", "bridge")).toHaveLength(1);
		await until("the folder is removed", () => namesIn("data", "bridge").length === 0);
	});

	test("for want of a private folder is said to be so, and agy's is not touched", async () => {
		mkdirSync(folder.at("data"));
		writeFileSync(folder.at("data", "bridge"), "in the way");
		await expect(register()).rejects.toMatchObject({ code: "not-writable" });
		expect(namesIn("gemini")).toStrictEqual([]);
		await rm(folder.at("data", "bridge"));
	});
});

describe("two processes", () => {
	test("keep their servers apart, each with its own secret", async () => {
		const others = await Promise.all([start("register"), start("register")]);
		const { name } = await register();
		const names = others.map((other) => other.printed().trim());
		expect(new Set([name, ...names]).size).toBe(3);
		expect(servers()).toStrictEqual({
			[name]: { serverUrl: URL_OF_OURS, headers: HEADERS },
			...Object.fromEntries(
				others.map(({ pid }, index) => [
					names[index],
					{ serverUrl: `http://127.0.0.1:${pid}/mcp`, headers: { authorization: `Bearer ${pid}-session` } },
				]),
			),
		});
		for (const folderName of namesIn("data", "bridge")) {
			const text = readFileSync(folder.at("data", "bridge", folderName, ".agents", "mcp_config.json"), "utf8");
			expect(Object.keys(JSON.parse(text).mcpServers)).toHaveLength(1);
		}
		const [first, second] = others;
		first?.process.kill("SIGTERM");
		await first?.exited;
		expect(Object.keys(servers()).toSorted()).toStrictEqual([name, names[1]].toSorted());
		second?.process.kill("SIGTERM");
		await second?.exited;
		expect(Object.keys(servers())).toStrictEqual([name]);
	});

	test("lose nothing when they register and remove at once, many times, beside the user's own", async () => {
		putConfig(MINE);
		const { name, remove } = await register();
		const churning = await Promise.all([start("churn", "12"), start("churn", "12")]);
		await Promise.all(churning.map((child) => child.exited));
		expect(churning.map((child) => [child.process.exitCode, child.printed().trim().split("\n").length])).toStrictEqual([
			[0, 12],
			[0, 12],
		]);
		expect(config()?.match(/pi_\d+_\w+/g)).toStrictEqual([name]);
		expect(Object.keys(record().servers)).toStrictEqual([name]);
		await remove();
		expect(config()).toBe(MINE);
		expect(namesIn("gemini", "config")).toStrictEqual(["mcp_config.json"]);
		expect(namesIn("data", "bridge")).toStrictEqual([]);
	});
});

describe("a killed process", () => {
	test.each([
		["a file of the user", MINE],
		["no file", null],
	])("leaves nothing behind after the next start: %s", async (_name, text) => {
		if (text !== null) putConfig(text);
		const child = await start("register");
		const name = child.printed().trim();
		mkdirSync(folder.at("gemini", "antigravity-cli", "mcp", name), { recursive: true });
		expect(config()).toContain(name);
		await kill(child);
		expect(config()).toContain(name);
		await openBridgeHome(folder.path).registration.sweep();
		expect(config()).toBe(text);
		expect(namesIn("gemini", "config")).toStrictEqual(text === null ? [] : ["mcp_config.json"]);
		expect(namesIn("gemini", "antigravity-cli", "mcp")).toStrictEqual([]);
		expect(namesIn("data", "bridge")).toStrictEqual([]);
		expect(record()).toStrictEqual({ version: 1, servers: {}, holders: {}, made: {} });
	});

	test("is swept wherever it was killed, and the others stay", async () => {
		putConfig(MINE);
		const { name, remove } = await register();
		for (let round = 0; round < 3; round++) {
			const child = await start("churn", "1000");
			await until("some work", () => child.printed().split("\n").length > 1 + round);
			await kill(child);
			await openBridgeHome(folder.path).registration.sweep();
			expect(config()?.match(/pi_\d+_\w+/g)).toStrictEqual([name]);
			expect(namesIn("gemini", "config")).toStrictEqual(["mcp_config.json"]);
			expect(namesIn("data", "bridge")).toHaveLength(1);
		}
		await remove();
		expect(config()).toBe(MINE);
	});

	test("is swept without its record, when nothing else has its pid", async () => {
		const { name } = await register();
		const [own, dead, foreign] = [`pi_${process.pid}_0badcafe`, `pi_${NO_PID}_0badcafe`, `pi_${NO_PID}`];
		const all = [own, dead, foreign, name];
		putConfig(JSON.stringify({ mcpServers: Object.fromEntries(all.map((server) => [server, {}])) }));
		await rm(folder.at("data", "bridges.json"));
		await home.registration.sweep();
		expect(Object.keys(servers())).toStrictEqual([own, foreign, name]);
	});

	test("whose pid another has by now is dead", async () => {
		const { name } = await register();
		const file = record();
		writeFileSync(
			folder.at("data", "bridges.json"),
			JSON.stringify({ ...file, servers: { [name]: { pid: process.pid, startTime: "1" } } }),
		);
		await home.registration.sweep();
		expect(config()).toBe(null);
	});
});

describe("a sweep", () => {
	test("touches nothing where there is nothing of ours", async () => {
		await home.registration.sweep();
		expect(namesIn()).toStrictEqual([]);
		putConfig(MINE);
		const before = statSync(configPath());
		writeFileSync(`${configPath()}.backup`, "mine");
		writeFileSync(folder.at("gemini", "config", `x.${NO_PID}.0badcafe.tmp`), "mine");
		await home.registration.sweep();
		expect(statSync(configPath())).toMatchObject({ mtimeMs: before.mtimeMs, mode: before.mode, ino: before.ino });
		expect(namesIn("gemini", "config")).toHaveLength(3);
		expect(namesIn("data")).toStrictEqual([]);
	});

	test("does not write a file that is in line: every agy would connect anew", async () => {
		await register();
		const before = statSync(configPath());
		await home.registration.sweep();
		await openBridgeHome(folder.path).registration.sweep();
		expect(statSync(configPath()).ino).toBe(before.ino);
	});

	test("acts on no name of a damaged record that is not ours", async () => {
		putConfig(MINE);
		mkdirSync(folder.at("data"));
		const dead = { pid: NO_PID, startTime: "1" };
		const damaged = {
			servers: { github: dead, "../x": dead, [`pi_${NO_PID}_0badcafe`]: 1 },
			made: { [configPath()]: "all" },
			holders: [],
		};
		writeFileSync(folder.at("data", "bridges.json"), JSON.stringify(damaged));
		await home.registration.sweep();
		await (await register()).remove();
		expect(config()).toBe(MINE);
	});
});
