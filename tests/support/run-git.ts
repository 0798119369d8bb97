/** git as cards run it, with the record of its process in a file of the test. */

import type { RunGit } from "../../src/main/cards/git-head.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { ProcessRegistry } from "../../src/main/processes/registry.ts";
import { runCommand } from "../../src/main/processes/run.ts";
import type { Folder } from "./folder.ts";

export type GitRunner = { readonly run: RunGit; readonly commands: readonly string[][]; close(): Promise<void> };

export function gitRunner(folder: Folder, bin = "git"): GitRunner {
	const registry = new ProcessRegistry(new JsonStore(folder.at("processes.json")), folder.at("sockets"), (error) => {
		throw error;
	});
	const commands: string[][] = [];
	return {
		commands,
		run: (args, limits) => {
			commands.push([...args]);
			return runCommand({ bin, args, env: { PATH: process.env.PATH ?? "" }, ...limits }, registry);
		},
		close: () => registry.close(),
	};
}
