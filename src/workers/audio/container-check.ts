/** What looking at a whole file of sound answers. */

/** `durationMs` as the container says, above 0: a file without any sound is a problem, for there is nothing to send. */
export type ContainerCheck =
	| { readonly ok: true; readonly durationMs: number }
	/** One sentence for a person. */
	| { readonly ok: false; readonly problem: string };

export function problem(text: string): ContainerCheck {
	return { ok: false, problem: text };
}
