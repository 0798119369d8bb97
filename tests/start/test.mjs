// npm test: installs what is missing, builds, and runs the tests under the project's Node. Arguments go to vitest.

import "./require-node.mjs";
import { build } from "./build.mjs";
import { exitLike, runChild } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { programPath, projectEnv, projectNode, ROOT, runEntry } from "./project.mjs";

await runEntry(async () => {
	await ensureInstalled();
	await build();
	const args = [programPath("vitest", "vitest"), "run", ...process.argv.slice(2)];
	exitLike(await runChild(projectNode(), args, { cwd: ROOT, env: projectEnv(process.env) }));
});
