/** What a subcommand of `/agy` is: given words, it answers. Where the answer is shown is not its business. */

import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { JsonObject } from "../../shared/events.ts";

export type Answer = {
	/** For a person; several lines where it is a listing. "" when what happened is seen elsewhere. */
	readonly text: string;
	/** The same for a program, with `--json`. */
	readonly data?: JsonObject;
	/** Default: info. */
	readonly level?: "info" | "warning" | "error";
};

export type Completion = { readonly value: string; readonly about: string };

export type Request = {
	/** Behind the subcommand, as typed, without `--json`. */
	readonly rest: string;
	/** The same, split at spaces. */
	readonly words: readonly string[];
	/** A program reads the answer: nothing is asked on the screen. */
	readonly asJson: boolean;
	readonly context: ExtensionCommandContext;
};

export type Subcommand = {
	readonly name: string;
	/** What may stand behind it, such as `[<file>|cancel]`. */
	readonly usage: string;
	/** One line. */
	readonly about: string;
	/** What may come next behind `words`. */
	complete?(words: readonly string[]): readonly Completion[] | Promise<readonly Completion[]>;
	/** Throws an AgyError for the user. */
	run(request: Request): Promise<Answer>;
};
