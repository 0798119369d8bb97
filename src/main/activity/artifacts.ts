/**
 * What agy made for the user beside the workspace: plans, checklists, pictures. They lie in the conversation's folder; what
 * agy keeps there for itself is left out. A file is used by its real path, which lies in that folder.
 */

import { type PlainFile, plainFilesIn } from "../plain-files.ts";
import { toPlainText } from "../plain-text.ts";

export type Artifact = {
	readonly name: string;
	readonly kind: "artifact" | "generated" | "uploaded";
	readonly bytes: number;
	/** Milliseconds since it was written last. */
	readonly ageMs: number;
	readonly path: string;
};

/** By the folder: the conversation's own, of what agy generated, of what the user gave it. */
const KINDS: Readonly<Record<string, Artifact["kind"]>> = {
	"": "artifact",
	".tempmediaStorage": "generated",
	".user_uploaded": "uploaded",
};
/** What agy keeps of an artifact: what it is, and its earlier states. */
const OF_AGY = /\.(metadata\.json|resolved(\.\d+)?)$/;
const MAX_ARTIFACTS = 200;

/** Newest first; `folder` is the conversation's. */
export async function listArtifacts(folder: string, nowMs: number): Promise<readonly Artifact[]> {
	const found: (PlainFile & { readonly kind: Artifact["kind"] })[] = [];
	for (const [part, kind] of Object.entries(KINDS))
		found.push(...(await plainFilesIn(folder, [part])).map((file) => ({ ...file, kind })));
	return found
		.filter(({ name }) => !OF_AGY.test(name))
		.toSorted((a, b) => b.changedMs - a.changedMs)
		.slice(0, MAX_ARTIFACTS)
		.map(({ name, kind, size, changedMs, path }) => ({
			...{ name: toPlainText(name), kind, bytes: size, path },
			ageMs: Math.max(0, Math.round(nowMs - changedMs)),
		}));
}

/** By its place in the list (from 1), its name, or a part of one that only it has. Null when it is none, or several. */
export function findArtifact(artifacts: readonly Artifact[], wanted: string): Artifact | null {
	const exact = artifacts.find(({ name }) => name === wanted);
	if (exact) return exact;
	if (/^\d{1,6}$/.test(wanted)) return artifacts[Number(wanted) - 1] ?? null;
	const part = wanted.toLowerCase();
	const matching = part === "" ? [] : artifacts.filter(({ name }) => name.toLowerCase().includes(part));
	return matching.length === 1 ? (matching[0] ?? null) : null;
}
