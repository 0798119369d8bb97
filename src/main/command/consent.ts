/** Asks before something is changed for good: on the screen and over rpc with a dialog, elsewhere the command has to say --yes. */

import type { Request } from "./subcommand.ts";

/** No completion offers it: Enter takes a completion, and the next Enter would consent unasked. */
export const YES = "--yes";

/** `not-asked`: nobody is there who could answer. */
export async function consent(
	{ words, asJson, context }: Request,
	title: string,
	message: string,
): Promise<"yes" | "no" | "not-asked"> {
	if (words.includes(YES)) return "yes";
	if (asJson || !context.hasUI) return "not-asked";
	return (await context.ui.confirm(title, message)) ? "yes" : "no";
}
