/**
 * Flag parsing by the rules of Go's flag package: `-x` and `--x` are one, values stand after `=` or in the next argument
 * (booleans only after `=`), and parsing stops at the first argument that is no flag.
 */

export type FlagKind = "string" | "boolean";

export type FlagUse = {
	readonly name: string;
	/** As typed, dashes included. */
	readonly spelled: string;
	readonly value: string;
	/** The value was the next argument. */
	readonly separate: boolean;
};

export type ParsedFlags =
	| { readonly ok: true; readonly uses: readonly FlagUse[]; readonly positionals: readonly string[] }
	| { readonly ok: false; readonly message: string };

const TRUE_WORDS = ["1", "t", "T", "true", "TRUE", "True"];
const FALSE_WORDS = ["0", "f", "F", "false", "FALSE", "False"];

export function parseGoFlags(args: readonly string[], kinds: Readonly<Record<string, FlagKind>>): ParsedFlags {
	const uses: FlagUse[] = [];
	for (let index = 0; index < args.length; index++) {
		const argument = args[index] ?? "";
		if (argument === "--") return { ok: true, uses, positionals: args.slice(index + 1) };
		if (!argument.startsWith("-") || argument === "-") return { ok: true, uses, positionals: args.slice(index) };

		const [, name = "", attached] = /^--?([^=]*)(?:=([\s\S]*))?$/.exec(argument) ?? [];
		if (name === "" || name.startsWith("-")) return { ok: false, message: `bad flag syntax: ${argument}` };
		const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
		if (kind === undefined) return { ok: false, message: `flags provided but not defined: -${name}` };

		const spelled = argument.split("=", 1)[0] ?? argument;
		if (kind === "boolean") {
			const value = attached ?? "true";
			if (![...TRUE_WORDS, ...FALSE_WORDS].includes(value)) {
				return { ok: false, message: `invalid boolean value "${value}" for -${name}: parse error` };
			}
			uses.push({ name, spelled, value: TRUE_WORDS.includes(value) ? "true" : "false", separate: false });
		} else if (attached !== undefined) {
			uses.push({ name, spelled, value: attached, separate: false });
		} else {
			index += 1;
			const value = args[index];
			if (value === undefined) return { ok: false, message: `flag needs an argument: -${name}` };
			uses.push({ name, spelled, value, separate: true });
		}
	}
	return { ok: true, uses, positionals: [] };
}
