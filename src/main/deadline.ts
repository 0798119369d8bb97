/** Waiting with a limit. */

/** Whether `promise` settles within `timeoutMs`. A failure counts as settled; an abort ends the wait like the limit. */
export async function settlesWithin(
	promise: Promise<unknown>,
	timeoutMs: number,
	signal?: AbortSignal,
): Promise<boolean> {
	let giveUp = () => {};
	const given = new Promise<false>((resolve) => {
		giveUp = () => resolve(false);
	});
	const timer = setTimeout(giveUp, timeoutMs);
	signal?.addEventListener("abort", giveUp, { once: true });
	if (signal?.aborted) giveUp();
	try {
		const settled = promise.then(
			() => true as const,
			() => true as const, // Whoever owns the promise hears of the failure.
		);
		return await Promise.race([settled, given]);
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", giveUp);
	}
}
