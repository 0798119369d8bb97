/**
 * What the installed agy can do: its version, and the flags its help lists. Behaviour is chosen from this alone. Pure.
 * Versions and flags: docs/protocols/agy-stream-json.md, "The command line".
 */

import { AgyError } from "../shared/errors.ts";
import { WARN_AGY_VERSION } from "../shared/limits.ts";
import type { Engine } from "./engines/engine.ts";
import { compareVersions } from "./versions.ts";

/** What is found out about one agy file, and kept. */
export type Findings = {
	readonly version: string;
	/** Without dashes; null when its help says nothing usable: then every flag is taken for granted. */
	readonly flags: readonly string[] | null;
	/** The default of --print-timeout in its help, as it stands there ("5m0s"); null when it does not say. */
	readonly printTimeout: string | null;
};

export type Capabilities = Findings & {
	/** Flags of ours that it does not offer; one of them would end every process at its start. */
	readonly missingFlags: readonly string[];
	/** Ends a turn by itself after some minutes, unless --print-timeout says otherwise. */
	readonly limitsTurns: boolean;
	/** Prints `init` before it reads a prompt (seen from 1.2.7 on, not so in 1.1.18; taken for granted from 1.2.0 on, where waiting costs little). */
	readonly namesItselfFirst: boolean;
	/** Set when this version works with known defects. */
	readonly warning: string | null;
};

/** Left out for an agy that does not have them. */
const OPTIONAL_FLAGS = [
	"output-format",
	"mode",
	"agent",
	"dangerously-skip-permissions",
	"disable-slash-commands",
	"print-timeout",
];
/** A text that names none of these is no list of agy's flags. */
const TELLTALE_FLAGS = ["model", "print"];

/** The flags that a help text names, anywhere in it: one too many does no harm, one too few would. */
export function parseFlags(help: string): readonly string[] | null {
	const flags = new Set([...help.matchAll(/(?<![\w-])--?([a-z][a-z-]+)/g)].map((match) => match[1] ?? ""));
	return TELLTALE_FLAGS.every((flag) => flags.has(flag)) ? [...flags].toSorted() : null;
}

/** What a help text says that --print-timeout is without being given, in the forms of Go's flag packages. */
export function parsePrintTimeout(help: string): string | null {
	return /--?print-timeout\b[^\n]*(?:\n[ \t]+[^\s-][^\n]*)?\(default "?([^)"\s]+)"?\)/.exec(help)?.[1] ?? null;
}

/** Throws `agy-too-old` for an agy that cannot take part in a conversation. */
export function toCapabilities({ version, flags, printTimeout }: Findings, requires: Engine["requires"]): Capabilities {
	if (compareVersions(version, requires.version) < 0) {
		throw tooOld(`agy ${version} is too old: pi-agy needs ${requires.version} or newer.`);
	}
	const lacks = (flag: string) => flags !== null && !flags.includes(flag);
	const needed = requires.flags.filter(lacks);
	if (needed.length > 0) {
		throw tooOld(`agy ${version} does not offer ${needed.map((flag) => `--${flag}`).join(", ")}, which pi-agy needs.`);
	}
	const isOld = compareVersions(version, WARN_AGY_VERSION) < 0;
	// Unlimited from 1.2.6 on (documented).
	const limitsTurns = printTimeout === null ? compareVersions(version, "1.2.6") < 0 : !/^0[a-z]*$/.test(printTimeout);
	const endsTurns = limitsTurns && lacks("print-timeout");
	const warnings = [
		...(isOld ? [`agy ${version} has known defects; ${WARN_AGY_VERSION} or newer is better.`] : []),
		...(endsTurns
			? [`agy ${version} ends a turn by itself after ${printTimeout ?? "5m"}, and has no --print-timeout.`]
			: []),
	];
	return {
		version,
		flags,
		printTimeout,
		limitsTurns,
		missingFlags: OPTIONAL_FLAGS.filter(lacks),
		namesItselfFirst: compareVersions(version, "1.2.0") >= 0,
		warning: warnings.length === 0 ? null : `${warnings.join(" ")} Run \`agy update\`.`,
	};
}

function tooOld(what: string): AgyError {
	return new AgyError("agy-too-old", `${what} Run \`agy update\`.`);
}
