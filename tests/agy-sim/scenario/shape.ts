/**
 * Small shapes that are type and parser at once: a scenario written as JSON is checked by the same description that gives
 * TypeScript its type. An error names the place and says what was expected there.
 */

/** Returns the value typed, or throws a ScenarioError that names the path. */
export type Shape<T> = (value: unknown, path: string) => T;
export type Infer<S> = S extends Shape<infer T> ? T : never;

export class ScenarioError extends Error {}

type Fields = Readonly<Record<string, Shape<unknown>>>;
type Pretty<T> = { [K in keyof T]: T[K] } & {};
type RecordOf<R extends Fields, O extends Fields> = Pretty<
	{ readonly [K in keyof R]: Infer<R[K]> } & { readonly [K in keyof O]?: Infer<O[K]> }
>;
type VariantOf<V extends Fields> = { [K in keyof V & string]: Pretty<{ readonly kind: K } & Infer<V[K]>> }[keyof V &
	string];

export const text: Shape<string> = (value, path) =>
	typeof value === "string" ? value : refuse(path, "a string", value);

export const flag: Shape<boolean> = (value, path) =>
	typeof value === "boolean" ? value : refuse(path, "true or false", value);

export const amount: Shape<number> = (value, path) =>
	typeof value === "number" && value >= 0 ? value : refuse(path, "a number >= 0", value);

export const count: Shape<number> = (value, path) =>
	Number.isInteger(value) && (value as number) >= 0 ? (value as number) : refuse(path, "a whole number >= 0", value);

/** A JSON object whose content is passed on unseen. */
export const anyObject: Shape<Readonly<Record<string, unknown>>> = (value, path) =>
	isObject(value) ? value : refuse(path, "an object", value);

export const anything: Shape<unknown> = (value) => value;

export const pattern: Shape<string> = (value, path) => {
	const source = text(value, path);
	try {
		new RegExp(source);
	} catch (cause) {
		throw new ScenarioError(`${path} is not a valid regular expression: ${source}`, { cause });
	}
	return source;
};

export function oneOf<const T extends string>(...choices: readonly T[]): Shape<T> {
	return (value, path) =>
		choices.find((choice) => choice === value) ?? refuse(path, `one of ${choices.join(", ")}`, value);
}

export function list<T>(element: Shape<T>): Shape<readonly T[]> {
	return (value, path) =>
		Array.isArray(value)
			? value.map((item, index) => element(item, `${path}[${index}]`))
			: refuse(path, "a list", value);
}

export function record<R extends Fields, O extends Fields>(required: R, optional: O): Shape<RecordOf<R, O>> {
	const known: Fields = { ...required, ...optional };
	return (value, path) => {
		if (!isObject(value)) return refuse(path, "an object", value);
		const parsed: Record<string, unknown> = {};
		for (const [key, field] of Object.entries(value)) {
			const shape = known[key];
			if (shape === undefined) {
				throw new ScenarioError(`${path} has an unknown field "${key}"; known: ${Object.keys(known).join(", ")}`);
			}
			parsed[key] = shape(field, path === "" ? key : `${path}.${key}`);
		}
		const missing = Object.keys(required).find((key) => !(key in parsed));
		if (missing !== undefined) throw new ScenarioError(`${path || "the scenario"} lacks the field "${missing}"`);
		return parsed as RecordOf<R, O>;
	};
}

/** Objects told apart by their `kind` field. */
export function variant<V extends Fields>(kinds: V): Shape<VariantOf<V>> {
	const tag = oneOf(...Object.keys(kinds));
	return (value, path) => {
		if (!isObject(value)) return refuse(path, "an object", value);
		const { kind, ...rest } = value;
		const name = tag(kind, `${path}.kind`);
		const shape = kinds[name] ?? anything;
		return { kind: name, ...(shape(rest, path) as object) } as VariantOf<V>;
	};
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(path: string, expected: string, value: unknown): never {
	const shown = JSON.stringify(value) ?? "nothing";
	throw new ScenarioError(`${path || "the scenario"} must be ${expected}, not ${shown.slice(0, 80)}`);
}
