/** A thread that serves control calls over rpc.ts, for its test. */
import { type MessagePort, workerData } from "node:worker_threads";
import { AgyError } from "../../src/shared/errors.ts";
import { serve } from "../../src/shared/rpc.ts";

export type ControlMethods = {
	add(a: number, b: number): number;
	echo(value: unknown): unknown;
	later(text: string): string;
	fail(message: string): null;
	failLater(message: string): null;
	hang(): null;
	exit(): null;
	block(): null;
};

serve(workerData as MessagePort, {
	add: (a: number, b: number) => a + b,
	echo: (value: unknown) => value,
	later: (text: string) => new Promise((resolve) => setImmediate(resolve, text)),
	fail: (message: string) => {
		throw new AgyError("bad-frame", message);
	},
	failLater: async (message: string) => {
		throw new Error(message);
	},
	hang: () => new Promise(() => {}),
	exit: () => process.exit(7),
	block: () => {
		for (;;);
	},
});
