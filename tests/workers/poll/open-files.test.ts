import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { conversationsHeldBy } from "../../../src/workers/poll/open-files.ts";
import { Folder } from "../../support/folder.ts";

const ID = "5f3c0000-0000-4000-8000-000000000001";
const children: ChildProcess[] = [];

afterEach(async () => {
	for (const child of children.splice(0)) {
		child.kill("SIGKILL");
		await once(child, "close");
	}
});
const folder = new Folder();

/** A process whose child holds the file open; with its pid. */
async function grandparentOf(file: string): Promise<number> {
	const script = 'exec 3>"$1"; echo ready; read -r _';
	const args = ["-c", `sh -c '${script}' inner "$1"; exit`, "outer", file];
	const child = spawn("sh", args, { stdio: ["pipe", "pipe", "inherit"] });
	children.push(child);
	await once(child.stdout, "data");
	return child.pid as number;
}

describe.skipIf(process.platform === "win32")("the conversations that a process holds open", () => {
	test.each(["", "-wal"])("are those of its children too: .db%s", async (suffix) => {
		const pid = await grandparentOf(folder.at(`${ID}.db${suffix}`));
		expect(await conversationsHeldBy(pid, folder.path)).toEqual(new Set([ID]));
	});

	test("are found through a symbolic link", async () => {
		const pid = await grandparentOf(folder.at(`${ID}.db`));
		symlinkSync(folder.path, folder.at("link"));
		expect(await conversationsHeldBy(pid, folder.at("link"))).toEqual(new Set([ID]));
	});

	test.each(["conversation_summaries.db", `${ID}.pb`, `${ID}.db-shm`])("are not other files: %s", async (name) => {
		const pid = await grandparentOf(folder.at(name));
		expect(await conversationsHeldBy(pid, folder.path)).toEqual(new Set());
	});

	test("are not those of another folder, nor of another process", async () => {
		const pid = await grandparentOf(folder.at(`${ID}.db`));
		expect(await conversationsHeldBy(pid, folder.at("none"))).toEqual(new Set());
		const other = await grandparentOf("/dev/null");
		expect(await conversationsHeldBy(other, folder.path)).toEqual(new Set());
	});

	test("cannot be seen once it has ended", async () => {
		const child = spawn("true");
		await once(child, "close");
		expect(await conversationsHeldBy(child.pid as number, folder.path)).toBeNull();
	});
});
