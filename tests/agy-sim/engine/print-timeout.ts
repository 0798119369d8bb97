/** --print-timeout of a session: the flag, else the default of the version. */
import type { Session } from "./session.ts";

/** Milliseconds; 0 is no limit. */
export function effectivePrintTimeoutMs(session: Session): number {
	const { behaviour } = session.simulation;
	return session.options.printTimeoutMs ?? behaviour.defaultPrintTimeoutSeconds * 1000;
}
