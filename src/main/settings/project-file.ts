/**
 * Whether the settings of a project may be used. They can name programs to run, so they count only where a person has said
 * that the project is to be trusted. pi calls a folder trusted, too, that holds nothing pi would ask about, and our file is
 * nothing of the kind: there a saved decision is needed (`/trust`).
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
	type ExtensionContext,
	hasTrustRequiringProjectResources,
	ProjectTrustStore,
} from "@earendil-works/pi-coding-agent";

export function projectFileOf(cwd: string): string {
	return join(cwd, ".pi", "pi-agy.json");
}

/** "absent" when there is no such file. For the start of a session: looks synchronously. */
export function projectFileState(
	session: Pick<ExtensionContext, "cwd" | "isProjectTrusted">,
	dataDir: string,
): "absent" | "trusted" | "untrusted" {
	const { cwd } = session;
	if (!existsSync(projectFileOf(cwd))) return "absent";
	if (!session.isProjectTrusted()) return "untrusted";
	return hasTrustRequiringProjectResources(cwd) || isSaved(cwd, dirname(dataDir)) ? "trusted" : "untrusted";
}

function isSaved(cwd: string, agentDir: string): boolean {
	try {
		return new ProjectTrustStore(agentDir).get(cwd) === true;
	} catch {
		return false; // pi's record cannot be read: nothing is known to be trusted.
	}
}
