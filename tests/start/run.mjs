// Runs a script of the project under the project's Node, installing what is missing first:
// `node tests/start/run.mjs bench/run.ts --check` works on a fresh clone and on an older Node.

import "./require-node.mjs";
import { exitLike, runChild } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { projectEnv, projectNode, ROOT, runEntry } from "./project.mjs";

await runEntry(async () => {
	const args = process.argv.slice(2);
	if (args.length === 0) throw new Error("usage: node tests/start/run.mjs <script> [arguments]");
	await ensureInstalled();
	exitLike(await runChild(projectNode(), args, { cwd: ROOT, env: projectEnv(process.env) }));
});
