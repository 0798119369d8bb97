/**
 * What agy sent that the simulator would not have sent, and the reverse, by shape. How an answer is cut into pieces, and how often
 * the model is called, is agy's choice each time and no difference. Pure.
 */
import type { Frame, TurnShape } from "./shape.ts";

export type Difference = {
	readonly what: "event" | "step" | "status" | "field" | "order" | "line" | "stderr" | "verdict";
	/** The turn; for a field the kind of line it stands in. */
	readonly where: string;
	/** What agy sent; "-" for nothing. */
	readonly agy: string;
	/** What the simulator sent. */
	readonly simulator: string;
};

const NOTHING = "-";
/** A piece of an answer. */
const PIECE = "agent_response ACTIVE";

/** Both are of the same script. */
export function differencesOf(agy: readonly TurnShape[], simulator: readonly TurnShape[]): readonly Difference[] {
	return [
		...agy.flatMap((turn, index) => differencesOfTurn(turn, simulator[index] as TurnShape)),
		...differencesOfFields(
			agy.flatMap(({ frames }) => frames),
			simulator.flatMap(({ frames }) => frames),
		),
	];
}

function differencesOfTurn(agy: TurnShape, simulator: TurnShape): readonly Difference[] {
	const where = agy.name;
	const found: Difference[] = [];
	const [ours, theirs] = [kindsOf(simulator), kindsOf(agy)];
	for (const kind of theirs)
		if (!ours.has(kind)) found.push({ what: whatOf(kind), where, agy: kind, simulator: NOTHING });
	for (const kind of ours)
		if (!theirs.has(kind)) found.push({ what: whatOf(kind), where, agy: NOTHING, simulator: kind });
	const [order, expected] = [orderOf(agy), orderOf(simulator)];
	if (found.length === 0 && order !== expected) found.push({ what: "order", where, agy: order, simulator: expected });
	const counts: readonly (readonly [Difference["what"], string, string])[] = [
		["line", `${agy.unreadable} unreadable`, `${simulator.unreadable} unreadable`],
		["stderr", agy.hasStderr ? "some" : "none", simulator.hasStderr ? "some" : "none"],
		["verdict", agy.verdict, simulator.verdict],
	];
	for (const [what, sent, wanted] of counts)
		if (sent !== wanted) found.push({ what, where, agy: sent, simulator: wanted });
	return found;
}

/** Over all turns: the same kind of line may carry more in one than in another. */
function differencesOfFields(agy: readonly Frame[], simulator: readonly Frame[]): readonly Difference[] {
	const [theirs, ours] = [byKind(agy), byKind(simulator)];
	return [...theirs].flatMap(([where, fields]) => {
		const expected = ours.get(where);
		if (expected === undefined) return []; // The line itself is a difference.
		return [...new Set([...fields.keys(), ...expected.keys()])].flatMap((path): readonly Difference[] => {
			const [sent, wanted] = [fields.get(path), expected.get(path)].map((types) =>
				[...(types ?? [])].toSorted().join(" | "),
			);
			if (sent === wanted) return [];
			return [{ what: "field", where, agy: toText(path, sent), simulator: toText(path, wanted) }];
		});
	});
}

function toText(path: string, types: string | undefined): string {
	return types === undefined || types === "" ? NOTHING : `${path}: ${types}`;
}

function byKind(frames: readonly Frame[]): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
	const kinds = new Map<string, Map<string, Set<string>>>();
	for (const { kind, fields } of frames) {
		const known = kinds.get(kind) ?? new Map<string, Set<string>>();
		kinds.set(kind, known);
		for (const [path, type] of fields) known.set(path, (known.get(path) ?? new Set()).add(type));
	}
	return kinds;
}

function kindsOf({ frames }: TurnShape): ReadonlySet<string> {
	return new Set(frames.map(({ kind }) => kind).filter((kind) => kind !== PIECE));
}

/** Without pieces, and with what repeats said once. */
function orderOf({ frames }: TurnShape): string {
	const kinds = frames.map(({ kind }) => kind).filter((kind) => kind !== PIECE);
	return kinds.filter((kind, index) => kind !== kinds[index - 1]).join(", ");
}

function whatOf(kind: string): Difference["what"] {
	if (kind.startsWith("event ") || kind === "init") return "event";
	return kind.startsWith("result ") ? "status" : "step";
}
