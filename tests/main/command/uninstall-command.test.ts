/** What `/agy uninstall` says where something does not go; that everything goes is tested in the real pi. */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { beforeEach, expect, test } from "vitest";
import { uninstallCommand } from "../../../src/main/command/uninstall-command.ts";
import type { Hub } from "../../../src/main/hub.ts";
import type { ProcessIdentity } from "../../../src/main/processes/proof.ts";
import { ChildNursery } from "../../support/child-process.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();
const nursery = new ChildNursery();

beforeEach(() => {
	mkdirSync(folder.at("data"));
	writeFileSync(folder.at("data", "config.json"), "{}");
});

function run(running: readonly ProcessIdentity[]) {
	const root = realpathSync(folder.path);
	const command = uninstallCommand({
		config: { dataDir: `${root}/data`, geminiDir: `${root}/gemini` },
		hub: () => ({ registry: { running } }) as unknown as Hub,
		otherSessions: () => 0,
		source: () => null,
		end: async () => {},
	});
	const context = { isIdle: () => true, cwd: root, hasUI: false } as unknown as ExtensionCommandContext;
	return command.run({ rest: "--yes", words: ["--yes"], asJson: false, context });
}

test("what is gone is counted, and what is left is told with the reason", async () => {
	const child = await nursery.sleeper();
	const { text, data, level } = await run([child.identity]);
	expect(text).toMatch(/^Removed: 2 files and folders of the data folder\.\nCould not be removed:\n/);
	expect(text).toContain(`\n- process ${child.pid}: it still runs\nMend what stands in the way`);
	expect(level).toBe("error");
	expect(data).toMatchObject({
		removed: [{ kind: "file" }, { kind: "folder" }],
		proof: { isClean: false, remaining: [{ path: `process ${child.pid}` }] },
	});
});

test("a second time there is nothing", async () => {
	expect((await run([])).text).toMatch(/^Removed: 2 files and folders/);
	expect(await run([])).toMatchObject({ text: expect.stringMatching(/^Removed: nothing\.\n/), level: "info" });
});
