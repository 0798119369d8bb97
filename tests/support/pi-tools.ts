/**
 * A pi extension for tests: tools that agy may use through the bridge. `where` says which pi runs it, `slow` ends when the
 * file WAIT_FOR of the workspace is there, and `forbidden` is blocked as a permission extension would.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export const WAIT_FOR = "slow-may-end";

// biome-ignore lint/style/noDefaultExport: pi wants the factory there
export default function piTools(pi: ExtensionAPI): void {
	const add = (name: string, run: (cwd: string, signal?: AbortSignal) => Promise<string>) =>
		pi.registerTool({
			name,
			label: name,
			description: `The tool ${name}`,
			parameters: Type.Object({}),
			async execute(_callId, _args, signal, _onUpdate, ctx) {
				return { content: [{ type: "text", text: await run(ctx.cwd, signal) }], details: {} };
			},
		});
	add("where", async () => `pi ${process.pid}`);
	add("forbidden", async () => "it ran");
	add("slow", async (cwd, signal) => {
		while (!existsSync(join(cwd, WAIT_FOR))) await delay(20, undefined, { signal });
		return "done at last";
	});
	pi.on("tool_call", ({ toolName }) =>
		toolName === "forbidden" ? { block: true, reason: "The policy does not allow it." } : undefined,
	);
}
