/**
 * Puts the simulated agy together into few files for the time of a test run, because its tests start it a thousand times
 * and most of a start is the loading of modules. The code is the same, with the MCP client in it; from sources it runs
 * wherever AGY_SIM_PROGRAM is not set. Runs in vitest's main process, whose environment the forks inherit.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build, type Plugin } from "vite";

const ENTRY = join(import.meta.dirname, "..", "agy-sim", "main.ts");

export async function setup(): Promise<() => void> {
	const folder = mkdtempSync(join(tmpdir(), "pi-agy-test-agy-sim-"));
	await build({
		configFile: false,
		envFile: false,
		logLevel: "error",
		root: dirname(ENTRY),
		plugins: [sourceFolders()],
		ssr: { noExternal: true },
		build: {
			ssr: ENTRY,
			outDir: folder,
			target: "node22",
			minify: false,
			// CommonJS loads faster than as many ES modules.
			rolldownOptions: { output: { format: "cjs", entryFileNames: "main.cjs", chunkFileNames: "[name]-[hash].cjs" } },
		},
	});
	process.env.AGY_SIM_PROGRAM = join(folder, "main.cjs");
	return () => rmSync(folder, { recursive: true, force: true });
}

/** What the simulator starts beside itself still lies beside its sources. */
function sourceFolders(): Plugin {
	return {
		name: "source-folders",
		transform: (code, id) => code.replaceAll("import.meta.dirname", JSON.stringify(dirname(id))),
	};
}
