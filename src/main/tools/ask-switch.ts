/** The delegation tool as pi knows it, while the settings offer it. */

import type { ExtensionAPI, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { Config } from "../config.ts";
import { ASK_TOOL_NAME, AskTool, type AskToolOptions } from "./ask-antigravity.ts";
import { AskParameters } from "./ask-arguments.ts";
import { renderAskCall, renderAskResult } from "./ask-card.ts";
import type { AskDetails } from "./ask-report.ts";

/** The tool while it is switched on: pi gets to know it, and keeps it from models when it is switched off again. */
export class AskToolSwitch {
	readonly #pi: ExtensionAPI;
	readonly #config: Config;
	readonly #tool: AskTool;
	#isRegistered = false;

	constructor(pi: ExtensionAPI, options: AskToolOptions) {
		this.#pi = pi;
		this.#config = options.config;
		this.#tool = new AskTool(options);
		if (options.config.askTool) this.#register();
	}

	/** To be called when the setting has changed, in a session that has begun. */
	follow(): void {
		const others = this.#pi.getActiveTools().filter((name) => name !== ASK_TOOL_NAME);
		if (!this.#config.askTool) this.#pi.setActiveTools(others);
		else if (this.#isRegistered) this.#pi.setActiveTools([...others, ASK_TOOL_NAME]);
		else this.#register();
	}

	/** Stops every run of the session. Resolves when their processes are gone. May be called twice. */
	close(): Promise<void> {
		return this.#tool.close();
	}

	#register(): void {
		this.#isRegistered = true;
		this.#pi.registerTool(toDefinition(this.#tool));
	}
}

function toDefinition(asked: AskTool): ToolDefinition<typeof AskParameters, AskDetails> {
	return {
		name: ASK_TOOL_NAME,
		label: "Ask agy",
		description:
			"Hands a task to Google's Antigravity CLI (agy), an agent with tools of its own, and returns its answer. It works in cwd with the user's rights and may change files. Several calls can run at once. The result ends with a conversationId with which a later call goes on.",
		parameters: AskParameters,
		executionMode: "parallel",
		execute: (_callId, args, signal, onUpdate, ctx) => asked.execute(args, signal, onUpdate, ctx),
		renderCall: (args, theme) => renderAskCall(args, theme),
		renderResult: (result, view, theme, context) =>
			renderAskResult(result, view, theme, {
				isError: context.isError,
				expandKey: context.keyHint("app.tools.expand", "to expand"),
			}),
	};
}
