// npm start: installs what is missing, builds, and opens the real pi with this extension on a signed-in agy, or else on
// the simulator. On the simulator pi gets a private home under the repository, so the user's own pi and agy settings
// are neither read nor changed, and it stays off the network. Arguments go to pi; its exit code and signals come back.

import "./require-node.mjs";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { findAgy } from "./agy.mjs";
import { build } from "./build.mjs";
import { exitLike, runChild } from "./child.mjs";
import { ensureInstalled } from "./install.mjs";
import { planStart, SIMULATOR } from "./plan.mjs";
import { programPath, projectEnv, projectNode, ROOT, runEntry, say } from "./project.mjs";

await runEntry(async () => {
	await ensureInstalled();
	await build();
	const agy = await findAgy(process.env, {
		cwd: ROOT,
		simulator: SIMULATOR,
		onAsk: (path) => say(`asking ${path} for its models...`),
	});
	const plan = planStart(process.argv.slice(2), projectEnv(process.env), agy);
	for (const folder of plan.folders) mkdirSync(folder, { recursive: true, mode: 0o700 });
	if (plan.settings !== undefined && !existsSync(plan.settings))
		writeFileSync(plan.settings, '{ "version": 2 }\n', { mode: 0o600 });
	if (plan.notice !== undefined) say(plan.notice);
	const pi = programPath("@earendil-works/pi-coding-agent", "pi");
	exitLike(await runChild(projectNode(), [pi, ...plan.args], { cwd: ROOT, env: plan.env }));
});
