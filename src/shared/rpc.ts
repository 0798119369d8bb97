/**
 * Control calls between main and a lane: Comlink over a MessagePort whose messages are packed like every other frame.
 * A bare Comlink call never settles once its peer is gone, so each call here has a deadline and ends with the lane.
 * The only comlink import.
 */

import type { MessagePort } from "node:worker_threads";
import * as Comlink from "comlink";
import { AgyError } from "./errors.ts";
import { decode, encode } from "./frames.ts";

type Methods = { readonly [name: string]: (...args: never[]) => unknown };
type Remote<T extends Methods> = {
	readonly [K in keyof T]: (...args: Parameters<T[K]>) => Promise<ReturnType<T[K]>>;
};

/** Serves `methods` on `port` until the port closes. */
export function serve(port: MessagePort, methods: Methods): void {
	Comlink.expose(methods, packingEndpoint(port));
}

/**
 * Calls what the other side serves.
 * A call rejects with `control-timeout` after `timeoutMs`, and with the reason of `ended` when the lane ends first.
 */
export function connect<T extends Methods>(
	port: MessagePort,
	options: { readonly timeoutMs: number; readonly ended: Promise<Error> },
): Remote<T> {
	const remote = Comlink.wrap<Methods>(packingEndpoint(port)) as unknown as Record<
		string,
		(...args: unknown[]) => Promise<unknown>
	>;
	return new Proxy({} as Remote<T>, {
		get: (_target, name) =>
			typeof name === "string" && name !== "then" ? (...args: unknown[]) => call(name, args) : undefined,
	});

	async function call(name: string, args: readonly unknown[]): Promise<unknown> {
		let timer: NodeJS.Timeout | undefined;
		const deadline = new Promise<Error>((resolve) => {
			const error = new AgyError(
				"control-timeout",
				`The lane did not answer "${name}" within ${options.timeoutMs} ms.`,
			);
			timer = setTimeout(resolve, options.timeoutMs, error);
		});
		const answer = remote[name]?.(...args);
		const failure = Promise.race([deadline, options.ended]).then((error) => Promise.reject(error));
		try {
			return await Promise.race([answer, failure]);
		} finally {
			clearTimeout(timer);
			failure.catch(() => {}); // The answer came first: the losing side of the race has nobody left to tell.
		}
	}
}

function packingEndpoint(port: MessagePort): Comlink.Endpoint {
	const wrappers = new WeakMap<object, (packed: Uint8Array) => void>();
	return {
		postMessage: (message: unknown) => {
			const packed = encode(message);
			port.postMessage(packed, [packed.buffer]);
		},
		addEventListener: (_type, listener) => {
			const deliver = typeof listener === "function" ? listener : listener.handleEvent.bind(listener);
			const wrapper = (packed: Uint8Array) => deliver({ data: decode(packed) } as MessageEvent);
			wrappers.set(listener, wrapper);
			port.on("message", wrapper);
		},
		removeEventListener: (_type, listener) => {
			const wrapper = wrappers.get(listener);
			if (wrapper) port.off("message", wrapper);
		},
		start: () => port.start(),
	};
}
