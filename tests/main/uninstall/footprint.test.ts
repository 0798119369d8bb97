/** What is found on disk, what is removed of it, and what is not touched. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { AgentFiles } from "../../../src/main/agent-files.ts";
import { JsonStore } from "../../../src/main/json-store.ts";
import { identify, ownIdentity } from "../../../src/main/processes/proof.ts";
import { type Places, recordedTemp, survey } from "../../../src/main/uninstall/footprint.ts";
import { removeItems } from "../../../src/main/uninstall/remove.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const SERVER = "pi_999999999_0123abcd";
let places: Places;

beforeEach(() => {
	places = { dataDir: `${realpathSync(folder.path)}/data`, geminiDir: `${realpathSync(folder.path)}/gemini` };
});

const put = (path: string, content = "{}") => {
	mkdirSync(dirname(folder.at(path)), { recursive: true });
	writeFileSync(folder.at(path), content);
	return realpathSync(folder.at(path));
};
const kinds = async () => (await survey(places, [])).items.map(({ kind, name }) => `${kind} ${name}`);

async function putAll(): Promise<void> {
	for (const path of ["data/config.json", "data/logs/pi-agy-2026-11-01.ndjson", "data/spill/1-2-0123abcd/x.md"])
		put(path);
	await new AgentFiles(new JsonStore(folder.at("data/agents.json")), folder.at("gemini/config/agents")).stage(
		"You are pi.",
	);
	put(
		"gemini/config/mcp_config.json",
		`{"mcpServers": {"mine": {"command": "x"}, "${SERVER}": {"serverUrl": "http://127.0.0.1:1"}}}`,
	);
	put(`gemini/antigravity-cli/mcp/${SERVER}/tool.json`);
	mkdirSync(folder.at("pi-agy-Ab3_x9"));
	put(
		"data/hubs.json",
		JSON.stringify({ hubs: [{ pid: 999_999_999, startTime: "1", privateDir: folder.at("pi-agy-Ab3_x9") }] }),
	);
}

describe("everything of ours", () => {
	test("is found, removed, and then there is nothing", async () => {
		await putAll();
		const { items, left, others } = await survey(places, []);
		expect(left).toEqual([]);
		expect(others).toEqual([]);
		expect(items.map(({ kind }) => kind).toSorted()).toEqual([
			...["agent-file", "file", "file", "file", "file", "folder", "folder", "folder"],
			...["mcp-entry", "mcp-schemas", "session-folder", "temp-folder"],
		]);
		const temp = await recordedTemp(places);
		// Taking the entry out of agy's file is written down in the data folder, so that needs a second look.
		expect(await removeItems(places, items)).toMatchObject([{ path: places.dataDir }]);
		expect(await removeItems(places, (await survey(places, [], temp)).items)).toEqual([]);
		expect((await survey(places, [], temp)).items).toEqual([]);
		expect(existsSync(places.dataDir)).toBe(false);
		expect(existsSync(folder.at("pi-agy-Ab3_x9"))).toBe(false);
		expect(JSON.parse(readFileSync(folder.at("gemini/config/mcp_config.json"), "utf8"))).toEqual({
			mcpServers: { mine: { command: "x" } },
		});
		expect(readdirSync(folder.at("gemini/config/agents"))).toEqual([]);
	});

	test("is nothing where nothing was ever made", async () => {
		expect(await survey(places, [])).toEqual({ items: [], left: [], others: [] });
	});

	test("counts a process that runs", async () => {
		const child = spawn("cat");
		await once(child, "spawn");
		const identity = await identify(child.pid ?? 0);
		const running = identity === null ? [] : [identity];
		expect((await survey(places, running)).items).toEqual([{ kind: "process", path: "", name: String(child.pid) }]);
		child.stdin.end();
		await once(child, "close");
		expect((await survey(places, running)).items).toEqual([]);
	});
});

describe("what is not proven ours is left, and said", () => {
	test.each<[string, () => string]>([
		["an unknown file", () => put("data/notes.txt")],
		["an unknown folder", () => dirname(put("data/mine/x.json"))],
		["an unknown file in a folder of ours", () => put("data/logs/mine.log")],
		["a folder under a file's name", () => dirname(put("data/config.json/x"))],
		[
			"an agent of another's under a name like ours",
			() => put("gemini/config/agents/pi-agy-0123456789abcdef.md", "# mine"),
		],
		["an agent file under another name", () => put("gemini/config/agents/pi-agy-mine.md", "---\nname: pi-agy-mine\n")],
		["an mcp_config.json that is not understood", () => put("gemini/config/mcp_config.json", "{ this is not")],
	])("%s", async (_name, arrange) => {
		const path = arrange();
		const { items, left } = await survey(places, []);
		expect(left.map((one) => one.path)).toEqual([path]);
		expect(left[0]?.why).not.toBe("");
		expect(await removeItems(places, items)).toEqual([]);
		expect(existsSync(path)).toBe(true);
	});

	test("a link in place of a file, and what is behind it", async () => {
		put("elsewhere/x.json");
		mkdirSync(places.dataDir);
		symlinkSync(folder.at("elsewhere/x.json"), folder.at("data/config.json"));
		symlinkSync(folder.at("elsewhere"), folder.at("data/logs"));
		const { items, left } = await survey(places, []);
		expect(items).toEqual([]);
		expect(left.map(({ path }) => path).toSorted()).toEqual([
			`${places.dataDir}/config.json`,
			`${places.dataDir}/logs`,
		]);
	});

	test("a data folder that is a link keeps the link and loses its content", async () => {
		put("real/config.json");
		symlinkSync(folder.at("real"), folder.at("data"));
		const { items, left } = await survey(places, []);
		expect(left).toEqual([{ path: places.dataDir, why: "a link that you made" }]);
		await removeItems(places, items);
		expect(readdirSync(folder.at("real"))).toEqual([]);
	});

	test("a temporary folder that is recorded nowhere, or under another name", async () => {
		mkdirSync(folder.at("pi-agy-Ab3_x9"));
		mkdirSync(folder.at("precious"));
		put("data/hubs.json", JSON.stringify({ hubs: [{ pid: 1, startTime: "0", privateDir: folder.at("precious") }] }));
		expect(await kinds()).toEqual(["file hubs.json", "folder "]);
	});
});

describe("another pi that uses the folder is seen", () => {
	const owners: Readonly<Record<string, (owner: object) => object>> = {
		"hubs.json": (owner) => ({ hubs: [{ ...owner, privateDir: "/tmp/pi-agy-Ab3_x9" }] }),
		"processes.json": (owner) => ({ processes: [{ pid: 999_999_999, startTime: "1", owner }] }),
		"agents.json": (owner) => ({ agents: { "pi-agy-0123456789abcdef": [owner] } }),
		"bridges.json": (owner) => ({ servers: { [SERVER]: owner } }),
	};

	test.each(Object.keys(owners))("in %s, while it lives", async (name) => {
		const child = spawn("cat");
		await once(child, "spawn");
		const identity = await identify(child.pid ?? 0);
		put(`data/${name}`, JSON.stringify(owners[name]?.(identity ?? {})));
		expect((await survey(places, [])).others).toEqual([child.pid]);
		child.stdin.end();
		await once(child, "close");
		expect((await survey(places, [])).others).toEqual([]);
		put(`data/${name}`, JSON.stringify(owners[name]?.(await ownIdentity())));
		expect((await survey(places, [])).others).toEqual([]);
	});
});
