/** A pi extension for tests: the session commands that rpc mode has no request for. Loaded by pi with -e. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

// biome-ignore lint/style/noDefaultExport: pi wants the factory there
export default function sessionCommands(pi: ExtensionAPI): void {
	pi.registerCommand("test-reload", {
		description: "Reload",
		handler: async (_args, ctx) => {
			await ctx.reload();
		},
	});
	pi.registerCommand("test-tree", {
		description: "Go to an entry of the session's tree",
		handler: async (entryId, ctx) => {
			await ctx.navigateTree(entryId.trim());
		},
	});
	pi.registerCommand("test-active-tools", {
		description: "Names of the tools that are declared to a model",
		handler: async (_args, ctx) => ctx.ui.notify(`active: ${pi.getActiveTools().toSorted().join(" ")}`),
	});
}
