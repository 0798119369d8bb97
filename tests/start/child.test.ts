/** How a foreground child and the process around it end together. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runChild } from "./child.mjs";

const CHILD_MODULE = new URL("./child.mjs", import.meta.url).href;

/** A script that runs `node -e childCode` as start.mjs runs pi. */
const wrapper = (childCode: string): string => `
	import { exitLike, runChild } from ${JSON.stringify(CHILD_MODULE)};
	const args = ["-e", ${JSON.stringify(childCode)}];
	exitLike(await runChild(process.execPath, args, { cwd: ".", env: process.env }));`;

function start(childCode: string, env: NodeJS.ProcessEnv = {}) {
	return spawn(process.execPath, ["--input-type=module", "-e", wrapper(childCode)], {
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "inherit"],
	});
}

const UNTIL_TERM = `process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000); console.log(process.pid);`;

it("passes the exit code on", async () => {
	expect(await once(start("process.exit(3)"), "exit")).toEqual([3, null]);
});

it("ends by the signal that ended the child", async () => {
	expect(await once(start("process.kill(process.pid, 'SIGKILL')"), "exit")).toEqual([null, "SIGKILL"]);
});

it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("passes %s on to the child", async (signal) => {
	const child = start(
		`process.on("${signal}", () => process.exit(7)); setInterval(() => {}, 1000); console.log("up");`,
	);
	await once(child.stdout, "data");
	child.kill(signal);
	expect(await once(child, "exit")).toEqual([7, null]);
});

it("ends the child when the npm script around it is gone", async () => {
	const code = `
		const { spawn } = require("node:child_process");
		const args = ["--input-type=module", "-e", ${JSON.stringify(wrapper(UNTIL_TERM))}];
		spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] });`;
	const script = spawn(process.execPath, ["-e", code], {
		env: { ...process.env, npm_lifecycle_event: "start" },
		stdio: ["ignore", "pipe", "inherit"],
	});
	await once(script.stdout, "data");
	script.kill("SIGKILL");
	// The pipe closes when the last process that writes to it has ended.
	await once(script.stdout.resume(), "close");
});

it("collects the output on request", async () => {
	const code = `console.log("out"); console.error("err"); process.exit(4)`;
	const options = { cwd: fileURLToPath(new URL(".", import.meta.url)), env: process.env, capture: true };
	const end = await runChild(process.execPath, ["-e", code], options);
	expect(end).toMatchObject({ code: 4, signal: null });
	expect(end.output.split("\n").sort()).toEqual(["", "err", "out"]);
});

it("rejects when there is no such program", async () => {
	await expect(runChild("/nowhere/program", [], { cwd: ".", env: {} })).rejects.toThrow("ENOENT");
});
