/**
 * The one error class. Callers switch on `code`, people read `message`, `cause` keeps the original.
 * Errors cross threads in plain form, because neither Piscina nor Comlink carries our fields.
 */

export type AgyErrorCode =
	| "agy-not-found"
	| "agy-not-executable"
	| "agy-too-old"
	| "agy-failed"
	| "bad-argument"
	| "bad-frame"
	| "bad-output"
	| "bad-setting"
	| "bridge-failed"
	| "cancelled"
	| "control-timeout"
	| "conversation-busy"
	| "conversation-unknown"
	| "lane-down"
	| "model-unknown"
	| "no-descriptors"
	| "node-too-old"
	| "not-writable"
	| "read-only"
	| "recording-failed"
	| "recursion"
	| "spawn-failed"
	| "speech-failed"
	| "transcription-failed"
	| "worker-crashed";

export type ErrorDetails = Readonly<Record<string, string | number | boolean | null>>;

export class AgyError extends Error {
	readonly code: AgyErrorCode;
	readonly details: ErrorDetails;

	constructor(code: AgyErrorCode, message: string, options: { cause?: unknown; details?: ErrorDetails } = {}) {
		super(message, options.cause === undefined ? undefined : { cause: options.cause });
		this.name = "AgyError";
		this.code = code;
		this.details = options.details ?? {};
	}
}

/** What crosses a thread in place of an error. */
export type PlainError = {
	readonly code: AgyErrorCode | null;
	readonly message: string;
	readonly stack: string;
	readonly details: ErrorDetails;
};

/** Turns anything that was thrown into the plain form. */
export function toPlainError(thrown: unknown): PlainError {
	if (thrown instanceof AgyError) {
		return { code: thrown.code, message: thrown.message, stack: thrown.stack ?? "", details: thrown.details };
	}
	const error = toError(thrown);
	return { code: null, message: error.message, stack: error.stack ?? "", details: {} };
}

/** The counterpart of toPlainError; an error without a code of ours gets `fallback`. */
export function fromPlainError(plain: PlainError, fallback: AgyErrorCode): AgyError {
	const error = new AgyError(plain.code ?? fallback, plain.message, { details: plain.details });
	error.stack = plain.stack;
	return error;
}

export function toError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Ends a `switch` over a union; reached only when a message of a newer contract slips in. */
export function assertNever(value: never): never {
	throw new AgyError("bad-frame", `No code handles this value: ${JSON.stringify(value)}`);
}
