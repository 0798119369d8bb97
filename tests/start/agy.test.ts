/** Which agy is used and when it counts as signed in, with small shell scripts in its place. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findAgy } from "./agy.mjs";

const VERSION = '[ "$1" = --version ] && echo 1.2.9 && exit';
const SIGNED_IN = `${VERSION}\n[ "$1" = models ] && printf 'Fetching available models...\\ngemini-3.8-flash-high\\tGemini 3.8 Flash\\n'`;
const SIGNED_OUT = `${VERSION}\necho 'Please sign in: launch agy without arguments.'`;

let folder: string;
let simulator: string;

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "pi-agy-find-"));
	simulator = script("simulator", SIGNED_IN);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function script(name: string, body: string): string {
	const path = join(folder, name);
	mkdirSync(join(path, ".."), { recursive: true });
	writeFileSync(path, `#!/bin/sh\n${body}\n`);
	chmodSync(path, 0o755);
	return path;
}

function find(env: NodeJS.ProcessEnv, timeoutMs = 10_000) {
	const path = ["bin", "/usr/bin", "/bin"].map((name) => join(name.startsWith("/") ? "/" : folder, name)).join(":");
	return findAgy({ PATH: path, ...env }, { cwd: folder, simulator, timeoutMs });
}

describe("which agy", () => {
	it("is the one on PATH", async () => {
		const path = script("bin/agy", SIGNED_IN);
		expect(await find({})).toEqual({ usable: true, path });
	});

	it("is AGY_BIN when set, as a path or as a name on PATH", async () => {
		script("bin/agy", SIGNED_OUT);
		const path = script("bin/agy-beta", SIGNED_IN);
		expect(await find({ AGY_BIN: path })).toEqual({ usable: true, path });
		expect(await find({ AGY_BIN: "agy-beta" })).toEqual({ usable: true, path });
		expect(await find({ AGY_BIN: "bin/agy-beta" })).toEqual({ usable: true, path });
	});

	it("is none without one on PATH, nor when what is there cannot be run", async () => {
		mkdirSync(join(folder, "bin", "agy"), { recursive: true });
		expect(await find({})).toMatchObject({ usable: false, reason: "no agy on PATH" });
	});

	it("is none when AGY_BIN is wrong, even with another on PATH", async () => {
		script("bin/agy", SIGNED_IN);
		expect(await find({ AGY_BIN: "/nowhere/agy" })).toMatchObject({
			usable: false,
			reason: "AGY_BIN=/nowhere/agy is not a program",
		});
	});

	it("is none when AGY_BIN leads to the simulator", async () => {
		symlinkSync(simulator, join(folder, "link"));
		expect(await find({ AGY_BIN: join(folder, "link") })).toMatchObject({
			usable: false,
			reason: "AGY_BIN is the simulator",
		});
	});
});

describe("signed in", () => {
	it("is not when agy prints only text, or fails", async () => {
		script("bin/agy", SIGNED_OUT);
		expect(await find({})).toMatchObject({ usable: false, reason: expect.stringContaining("is not signed in") });
		script("bin/agy", `${VERSION}\nexit 1`);
		expect(await find({})).toMatchObject({ usable: false, reason: expect.stringContaining("is not signed in") });
	});

	it("is decided although a helper of agy's keeps its stdout open", async () => {
		const helper = join(folder, "helper");
		const path = script("bin/agy", `${SIGNED_IN}\nsleep 60 &\necho $! > ${helper}`);
		try {
			expect(await find({})).toEqual({ usable: true, path });
		} finally {
			process.kill(Number(readFileSync(helper, "utf8")));
		}
	});

	it("gets a closed stdin", async () => {
		const path = script("bin/agy", `cat > /dev/null; ${SIGNED_IN}`);
		expect(await find({})).toEqual({ usable: true, path });
	});

	it.each([
		["when asked for its version", "--version", ""],
		["when asked for its models", "models", `${VERSION}\n`],
	])("is not when agy hangs or prints without end %s", async (_name, question, head) => {
		script("bin/agy", `${head}exec sleep 30`);
		expect(await find({}, 1_000)).toMatchObject({
			usable: false,
			reason: expect.stringContaining(`did not answer \`${question}\` within 1 s`),
		});
		script("bin/agy", `${head}exec cat /dev/zero`);
		expect(await find({})).toMatchObject({ usable: false, reason: expect.stringContaining("more than 1 MiB") });
	});

	it.each([
		["prints something else", "echo 'ls (GNU coreutils) 9.4'"],
		["prints nothing", "exit 0"],
	])("is no question of a program that %s when asked for its version", async (_name, body) => {
		script("bin/agy", body);
		expect(await find({})).toMatchObject({
			usable: false,
			reason: expect.stringMatching(/agy does not look like agy$/),
			remedy: "Correct AGY_BIN or PATH.",
		});
	});
});
