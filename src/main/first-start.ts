/**
 * What a person is asked and told when pi opens on a screen: at the very first start which engine to use, and at every
 * start that there is no agy, or one that is too old. Neither delays anything.
 */

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { AgyError, toError } from "../shared/errors.ts";
import type { Settings } from "./settings/settings.ts";

const TITLE = "Antigravity: how shall pi drive agy? /agy engine changes it later.";
const ENGINES = [
	{ typed: "stream-json", label: "stream-json: one agy for the whole session (recommended)" },
	{ typed: "legacy-sqlite", label: "legacy-sqlite: one agy per prompt, for an agy whose stream-json cannot be used" },
] as const;

/** Asks until something is chosen; Esc writes nothing, and the next start asks again. */
export async function askForEngine(
	settings: Settings,
	{ ui }: Pick<ExtensionContext, "ui">,
	signal: AbortSignal,
): Promise<void> {
	if (!settings.isFirstRun || settings.row("engine").source.layer !== "default") return;
	try {
		const chosen = await ui.select(
			TITLE,
			ENGINES.map(({ label }) => label),
			{ signal },
		);
		const engine = ENGINES.find(({ label }) => label === chosen);
		if (engine === undefined || signal.aborted) return;
		const { pending } = await settings.set("engine", engine.typed);
		if (pending !== null) ui.notify(`agy is driven by ${pending} after /reload.`, "info");
	} catch (error) {
		if (!signal.aborted) ui.notify(`The engine was not saved: ${toError(error).message}`, "warning");
	}
}

/** `find` looks for agy and rejects with what is wrong. */
export async function tellOfMissingAgy(
	find: () => Promise<unknown>,
	{ ui }: Pick<ExtensionContext, "ui">,
	signal: AbortSignal,
): Promise<void> {
	try {
		await find();
	} catch (error) {
		// What else goes wrong on the way is told by the first turn.
		if (error instanceof AgyError && !signal.aborted) ui.notify(error.message, "warning");
	}
}
