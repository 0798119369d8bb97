import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentFiles } from "../../src/main/agent-files.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { ownIdentity } from "../../src/main/processes/proof.ts";
import { type Child, ChildNursery } from "../support/child-process.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";
import { isRunning, killQuietly } from "../support/process-table.ts";

const HOLDER = fileURLToPath(new URL("../support/resource-holder.ts", import.meta.url));
const PROMPT = "You are a careful agent.\n---\nUse tabs. é";

const folder = new Folder();
const nursery = new ChildNursery();
let files: AgentFiles;

beforeEach(() => {
	files = open();
});

afterEach(() => files.close());

const open = () => new AgentFiles(new JsonStore(folder.at("agents.json")), folder.at("agents"));
const present = () => (existsSync(folder.at("agents")) ? readdirSync(folder.at("agents")).toSorted() : []);
const owners = () => JSON.parse(readFileSync(folder.at("agents.json"), "utf8")).agents;

/** Another process that has staged the prompt. */
function holder(prompt = PROMPT): Promise<Child> {
	const args = ["--no-warnings", HOLDER, "agent", folder.at("agents.json"), folder.at("agents"), prompt];
	return nursery.run(process.execPath, args, { lines: 1 });
}

async function kill({ pid }: Child): Promise<void> {
	killQuietly(pid);
	await until("its end", () => !isRunning(pid));
}

describe("a staged prompt", () => {
	test("is an agent file that nobody else can read, named after its content", async () => {
		const name = await files.stage(PROMPT);
		expect(name).toMatch(/^pi-agy-[0-9a-f]{16}$/);
		expect(readFileSync(folder.at("agents", `${name}.md`), "utf8")).toBe(
			`---\nname: ${name}\ndescription: Instructions of the pi coding agent for this session.\n---\n\n${PROMPT}\n`,
		);
		expect(statSync(folder.at("agents", `${name}.md`)).mode & 0o777).toBe(0o600);
		expect(present()).toStrictEqual([`${name}.md`]);
		expect(owners()).toStrictEqual({ [name]: [await ownIdentity()] });
	});

	test("is one file, however often and by however many it is staged", async () => {
		const names = await Promise.all([files.stage(PROMPT), files.stage(PROMPT), open().stage(PROMPT)]);
		await files.stage(PROMPT);
		expect(new Set(names).size).toBe(1);
		expect(present()).toHaveLength(1);
		expect(Object.values(owners())).toStrictEqual([[await ownIdentity()]]);
	});

	test("that has changed is another file", async () => {
		const names = await Promise.all([files.stage(PROMPT), files.stage(`${PROMPT} `)]);
		expect(present()).toStrictEqual(names.map((name) => `${name}.md`).toSorted());
	});

	test("lies beside the user's own agents and leaves them alone", async () => {
		mkdirSync(folder.at("agents"));
		writeFileSync(folder.at("agents", "reviewer.md"), "mine");
		await files.stage(PROMPT);
		await files.close();
		expect(present()).toStrictEqual(["reviewer.md"]);
	});

	test("that cannot be written is an error, and is tried again", async () => {
		writeFileSync(folder.at("agents"), "in the way");
		await expect(files.stage(PROMPT)).rejects.toThrow(/EEXIST|ENOTDIR/);
		await rm(folder.at("agents"));
		await files.stage(PROMPT);
		expect(present()).toHaveLength(1);
	});
});

describe("the end of a process", () => {
	test("takes its files with it, and may come twice", async () => {
		await Promise.all([files.stage("One."), files.stage("Two.")]);
		await files.close();
		await files.close();
		expect(present()).toStrictEqual([]);
		expect(owners()).toStrictEqual({});
	});

	test("that has staged nothing leaves no record", async () => {
		await files.close();
		expect(existsSync(folder.at("agents.json"))).toBe(false);
	});

	test("leaves a file that another living process uses, and the last one removes it", async () => {
		const other = await holder();
		const name = await files.stage(PROMPT);
		expect(other.printed().trim()).toBe(name);
		expect(owners()[name]).toHaveLength(2);
		await files.close();
		expect(present()).toStrictEqual([`${name}.md`]);
		expect(owners()[name]).toStrictEqual([other.identity]);
		process.kill(other.pid, "SIGTERM");
		await other.exited;
		expect(other.printed()).toContain("given back");
		expect(present()).toStrictEqual([]);
	});

	test("can be followed by another start", async () => {
		await files.stage(PROMPT);
		await files.close();
		await files.stage(PROMPT);
		expect(present()).toHaveLength(1);
	});
});

describe("the sweep", () => {
	test("removes the file of a killed process, and not the one of a living one", async () => {
		const [killed, living] = await Promise.all([holder("One."), holder("Two.")]);
		await kill(killed);
		await files.sweep();
		expect(present()).toStrictEqual([`${living.printed().trim()}.md`]);
		expect(Object.keys(owners())).toStrictEqual([living.printed().trim()]);
	});

	test("keeps a file of a killed process that this one uses too", async () => {
		const killed = await holder();
		const name = await files.stage(PROMPT);
		await kill(killed);
		await files.sweep();
		expect(present()).toStrictEqual([`${name}.md`]);
		expect(owners()[name]).toStrictEqual([await ownIdentity()]);
	});

	test("removes the file of a process whose pid is another one's now", async () => {
		const child = await nursery.sleeper();
		const name = await files.stage(PROMPT);
		await new JsonStore(folder.at("agents.json")).update((file) => ({
			...file,
			agents: { [name]: [{ pid: child.pid, startTime: "1" }] },
		}));
		await open().sweep();
		expect(present()).toStrictEqual([]);
	});

	test("removes a file whose process was killed before it could record that it was there", async () => {
		// The record stands before the file is written, so there is no such file.
		writeFileSync(folder.at("agents"), "in the way");
		await expect(files.stage(PROMPT)).rejects.toThrow(/EEXIST|ENOTDIR/);
		expect(Object.values(owners())).toStrictEqual([[await ownIdentity()]]);
	});

	test("of nothing writes nothing", async () => {
		await files.sweep();
		expect(readdirSync(folder.path)).toStrictEqual([]);
	});

	test.each([
		["a path out of the folder", "../precious"],
		["an agent of the user", "reviewer"],
		["a name that is nearly ours", "pi-agy-0123456789abcdef0"],
	])("never removes %s that stands in the record", async (_name, entry) => {
		mkdirSync(folder.at("agents"));
		writeFileSync(folder.at("precious.md"), "x");
		writeFileSync(folder.at("agents", "reviewer.md"), "x");
		writeFileSync(folder.at("agents", "pi-agy-0123456789abcdef0.md"), "x");
		const dead = { pid: 2 ** 30, startTime: "1" };
		await new JsonStore(folder.at("agents.json")).update(() => ({
			agents: { [entry]: [dead], "pi-agy-0123456789abcdef": [dead] },
		}));
		await files.sweep();
		expect(present()).toHaveLength(2);
		expect(existsSync(folder.at("precious.md"))).toBe(true);
	});

	test.each([
		["no object", '{"agents":1}'],
		["owners that are none", '{"agents":{"pi-agy-0123456789abcdef":[null,1,{"pid":"1"}]}}'],
		["a list in place of owners", '{"agents":{"pi-agy-0123456789abcdef":"x"}}'],
	])("of a record with %s does not fail", async (_name, record) => {
		writeFileSync(folder.at("agents.json"), record);
		await expect(files.sweep()).resolves.toBeUndefined();
		await files.stage(PROMPT);
		expect(present()).toHaveLength(1);
	});
});
