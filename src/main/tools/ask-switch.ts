/** The delegation tool as pi knows it, while the settings offer it. What runs it is loaded with its first call. */

import type { ExtensionAPI, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { Config } from "../config.ts";
import type { AskTool } from "./ask-antigravity.ts";
import { renderAskCall, renderAskResult } from "./ask-card.ts";
import { ASK_TOOL_NAME, AskParameters } from "./ask-parameters.ts";
import type { AskDetails } from "./ask-report.ts";

/** The tool while it is switched on: pi gets to know it, and keeps it from models when it is switched off again. */
export class AskToolSwitch {
	readonly #pi: ExtensionAPI;
	readonly #config: Pick<Config, "askTool">;
	readonly #tool: () => Promise<AskTool>;
	#isRegistered = false;

	constructor(pi: ExtensionAPI, config: Pick<Config, "askTool">, tool: () => Promise<AskTool>) {
		this.#pi = pi;
		this.#config = config;
		this.#tool = tool;
		if (config.askTool) this.#register();
	}

	/** To be called when the setting has changed, in a session that has begun. */
	follow(): void {
		const others = this.#pi.getActiveTools().filter((name) => name !== ASK_TOOL_NAME);
		if (!this.#config.askTool) this.#pi.setActiveTools(others);
		else if (this.#isRegistered) this.#pi.setActiveTools([...others, ASK_TOOL_NAME]);
		else this.#register();
	}

	#register(): void {
		this.#isRegistered = true;
		this.#pi.registerTool(toDefinition(this.#tool));
	}
}

function toDefinition(tool: () => Promise<AskTool>): ToolDefinition<typeof AskParameters, AskDetails> {
	return {
		name: ASK_TOOL_NAME,
		label: "Ask agy",
		description:
			"Hands a task to Google's Antigravity CLI (agy), an agent with tools of its own, and returns its answer. It works in cwd with the user's rights and may change files. Several calls can run at once. The result ends with a conversationId with which a later call goes on.",
		parameters: AskParameters,
		executionMode: "parallel",
		execute: async (_callId, args, signal, onUpdate, ctx) => (await tool()).execute(args, signal, onUpdate, ctx),
		renderCall: (args, theme) => renderAskCall(args, theme),
		renderResult: (result, view, theme, context) =>
			renderAskResult(result, view, theme, {
				isError: context.isError,
				expandKey: context.keyHint("app.tools.expand", "to expand"),
			}),
	};
}
