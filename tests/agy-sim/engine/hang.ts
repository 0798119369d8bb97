const FOREVER_MS = 2 ** 30;

/** Waits until the signal is aborted, with the process kept alive, and rejects with its reason. */
export function hang(signal: AbortSignal): Promise<never> {
	return new Promise((_resolve, reject) => {
		if (signal.aborted) return reject(signal.reason);
		const keepAlive = setInterval(() => {}, FOREVER_MS);
		signal.addEventListener("abort", () => {
			clearInterval(keepAlive);
			reject(signal.reason);
		});
	});
}
