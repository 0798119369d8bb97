/** When node_modules is trusted, and that one install serves two starts at once. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ensureInstalled, installState } from "./install.mjs";

let root: string;

beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "pi-agy-install-"));
	writeFileSync(join(root, "package-lock.json"), "{}");
	vi.spyOn(process.stderr, "write").mockReturnValue(true);
});

afterEach(() => {
	vi.restoreAllMocks();
	rmSync(root, { recursive: true, force: true });
});

/** Does what `npm ci` does to the folder: empties it first, writes its record last. */
async function npmCi(): Promise<void> {
	rmSync(join(root, "node_modules"), { recursive: true, force: true });
	mkdirSync(join(root, "node_modules"));
	await new Promise((resolve) => setImmediate(resolve));
	writeFileSync(join(root, "node_modules", ".package-lock.json"), "{}");
}

async function diesHalfway(): Promise<void> {
	rmSync(join(root, "node_modules"), { recursive: true, force: true });
	mkdirSync(join(root, "node_modules"));
	throw new Error("npm ci failed");
}

describe("installState", () => {
	it("is missing on a fresh clone and ready after an install", async () => {
		expect(installState(root)).toBe("missing");
		await ensureInstalled(root, npmCi);
		expect(installState(root)).toBe("ready");
	});

	it("is stale after the lock file changed", async () => {
		await ensureInstalled(root, npmCi);
		writeFileSync(join(root, "package-lock.json"), '{ "changed": true }');
		expect(installState(root)).toBe("stale");
	});

	it("is unfinished when the install died", async () => {
		await expect(ensureInstalled(root, diesHalfway)).rejects.toThrow("npm ci failed");
		expect(installState(root)).toBe("unfinished");
	});

	it("is unfinished when a later npm run by hand left no record", async () => {
		await ensureInstalled(root, npmCi);
		rmSync(join(root, "node_modules", ".package-lock.json"));
		expect(installState(root)).toBe("unfinished");
	});
});

describe("ensureInstalled", () => {
	it("does not install twice", async () => {
		const install = vi.fn(npmCi);
		await ensureInstalled(root, install);
		await ensureInstalled(root, install);
		expect(install).toHaveBeenCalledTimes(1);
	});

	it("repeats an install that died", async () => {
		await expect(ensureInstalled(root, diesHalfway)).rejects.toThrow();
		await ensureInstalled(root, npmCi);
		expect(installState(root)).toBe("ready");
	});

	it("installs again when the lock file changed during the install", async () => {
		await ensureInstalled(root, async () => {
			await npmCi();
			writeFileSync(join(root, "package-lock.json"), '{ "changed": true }');
		});
		expect(installState(root)).toBe("stale");
	});

	it("installs once for two starts at the same time, and leaves no lock", async () => {
		const install = vi.fn(npmCi);
		await Promise.all([ensureInstalled(root, install), ensureInstalled(root, install)]);
		expect(install).toHaveBeenCalledTimes(1);
		expect(existsSync(join(root, ".start.lock"))).toBe(false);
	});

	it("links the installed Node when npm left no link to it", async () => {
		await ensureInstalled(root, async () => {
			await npmCi();
			const programs = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin");
			mkdirSync(join(root, "node_modules", ".bin"));
			mkdirSync(programs, { recursive: true });
			writeFileSync(join(programs, "node"), "the installed Node");
		});
		expect(readFileSync(join(root, "node_modules", ".bin", "node"), "utf8")).toBe("the installed Node");
	});

	it("says in one line what it does", async () => {
		await ensureInstalled(root, npmCi);
		await ensureInstalled(root, npmCi);
		const lines = vi.mocked(process.stderr.write).mock.calls.map(([text]) => String(text));
		expect(lines).toEqual([expect.stringMatching(/^pi-agy: installing the dependencies.*\n$/)]);
	});
});
