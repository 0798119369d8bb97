/** What the stand-in for agy is asked for, as part of a prompt that pi may have put other text around. Pure. */

import type { Load } from "./load.ts";

export type StandInTask = {
	readonly load: Load;
	/** Printing begins when this file is there: all sessions are up by then. */
	readonly goPath: string;
	/** Where the account of what was printed is written, before the turn ends. */
	readonly accountPath: string;
};

/** Answered at once, and with it the stand-in ends: an agy that has idled out. */
export const LAST_PROMPT = "Say that you are ready, and leave.";

export function toPrompt(task: StandInTask): string {
	return `Print this: <task>${JSON.stringify(task)}</task>`;
}

export function parseTask(prompt: string): StandInTask | null {
	const [, task] = /<task>(.*)<\/task>/.exec(prompt) ?? [];
	return task === undefined ? null : (JSON.parse(task) as StandInTask);
}
