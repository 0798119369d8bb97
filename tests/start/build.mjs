// Compiles the worker half into dist/, from which an installed package runs it; a checkout runs the sources.
// Built beside dist/ and swapped in, so that no stale file survives and a failed build leaves the last good one.
// Run directly it is the `build` script; the other start scripts import it.

import "./require-node.mjs";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "./child.mjs";
import { ensureInstalled, withProjectLock } from "./install.mjs";
import { isEntry, programPath, projectEnv, projectNode, ROOT, runEntry } from "./project.mjs";

export async function build() {
	const dist = join(ROOT, "dist");
	const next = join(ROOT, "dist.next");
	await withProjectLock(ROOT, async (addHolder) => {
		rmSync(next, { recursive: true, force: true });
		const args = [programPath("typescript", "tsc"), "-p", "tsconfig.build.json", "--outDir", next];
		const end = await runChild(projectNode(), args, {
			cwd: ROOT,
			env: projectEnv(process.env),
			capture: true,
			onStart: addHolder,
		});
		if (end.code !== 0) throw new Error(`the build failed:\n\n${end.output.trim()}`);
		rmSync(dist, { recursive: true, force: true });
		renameSync(next, dist);
	});
}

if (isEntry(import.meta.url)) {
	await runEntry(async () => {
		await ensureInstalled();
		await build();
	});
}
