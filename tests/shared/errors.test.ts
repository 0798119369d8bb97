import { describe, expect, test } from "vitest";
import { AgyError, assertNever, fromPlainError, toError, toPlainError } from "../../src/shared/errors.ts";
import { decode, encode } from "../../src/shared/frames.ts";

describe("AgyError", () => {
	test("carries code, message, details and the original", () => {
		const cause = new Error("ENOENT");
		const error = new AgyError("agy-not-found", "agy was not found.", { cause, details: { path: "/x", tries: 2 } });
		expect(error).toBeInstanceOf(Error);
		expect(error).toMatchObject({
			name: "AgyError",
			code: "agy-not-found",
			message: "agy was not found.",
			cause,
			details: { path: "/x", tries: 2 },
		});
	});

	test("has no cause when none was given", () => {
		const error = new AgyError("cancelled", "Cancelled.");
		expect("cause" in error).toBe(false);
		expect(error.details).toStrictEqual({});
	});
});

describe("the plain form", () => {
	test("brings an error of ours over a thread with every field", () => {
		const error = new AgyError("lane-down", "It stays down.", { details: { crashes: 3 } });
		const arrived = fromPlainError(decode(encode(toPlainError(error))) as never, "worker-crashed");
		expect(arrived).toBeInstanceOf(AgyError);
		expect(arrived).toMatchObject({ code: "lane-down", message: "It stays down.", details: { crashes: 3 } });
		expect(arrived.stack).toBe(error.stack);
	});

	test("gives any other error the fallback code", () => {
		const arrived = fromPlainError(toPlainError(new TypeError("x is not a function")), "worker-crashed");
		expect(arrived).toMatchObject({ code: "worker-crashed", message: "x is not a function" });
	});

	test.each([
		["a string", "boom", "boom"],
		["nothing", undefined, "undefined"],
		["an object", { a: 1 }, "[object Object]"],
	])("takes %s that was thrown", (_name, thrown, message) => {
		expect(toPlainError(thrown)).toMatchObject({ code: null, message, details: {} });
		expect(toError(thrown).message).toBe(message);
	});

	test("keeps an error without a stack", () => {
		const error = new AgyError("cancelled", "Cancelled.");
		Reflect.deleteProperty(error, "stack");
		error.stack = undefined as never;
		expect(toPlainError(error).stack).toBe("");
	});
});

test("toError leaves an error as it is", () => {
	const error = new RangeError("r");
	expect(toError(error)).toBe(error);
});

test("a value that no code handles is named", () => {
	expect(() => assertNever({ kind: "new" } as never)).toThrow(
		expect.objectContaining({ code: "bad-frame", message: 'No code handles this value: {"kind":"new"}' }),
	);
});
