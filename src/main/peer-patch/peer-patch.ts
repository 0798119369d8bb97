/**
 * Finds what the peer's patch left in the installed pi, and its backup of each file: a folder
 * `pi-patch-backup/<name>/` with a VERSION file and the files as they were, below the peer's own folder. A backup counts only
 * when it is of this very version and place of pi and is pi's file by its content. Only looks.
 */

import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { readUpTo } from "../cards/file-content.ts";
import { isInsertionInto, isMarked, loadedBy, MARKED_FILES, type MarkedFile, SIGNATURE } from "./patch-marks.ts";

export type PatchedFile = {
	/** Below pi's dist/. */
	readonly file: string;
	/** Real and absolute. */
	readonly path: string;
	readonly installed: Buffer;
	/** Permission bits. */
	readonly mode: number;
	/** Null when there is none that can be used: `problem` says why. */
	readonly backup: { readonly path: string; readonly content: Buffer } | null;
	readonly problem: string;
};

export type PatchState = {
	/** Where pi is installed, real and absolute. */
	readonly root: string;
	readonly version: string;
	/** Empty when pi is as it was shipped, as far as the patch goes. */
	readonly files: readonly PatchedFile[];
};

type Backup = { readonly directory: string; readonly version: string; readonly madeMs: number };

const PACKAGE = "@earendil-works/pi-coding-agent";
/** pi's largest file of these has 180 KB. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_MANIFEST_BYTES = 64 * 1024;
/** One is made for each patched version of pi. */
const MAX_BACKUPS = 200;

/**
 * `packageDir` is where pi says it is installed, `backupRoots` are where backups may be. Null when there is no pi with files
 * of its own: a binary cannot have been patched.
 */
export async function findPatch(packageDir: string, backupRoots: readonly string[]): Promise<PatchState | null> {
	const root = await realpath(packageDir).catch(() => null); // A binary names a folder that may not be there.
	const version = root === null ? null : await versionOf(root);
	if (root === null || version === null) return null;
	const backups = (await Promise.all(backupRoots.map((directory) => backupsIn(directory, root)))).flat();
	const marked = (await Promise.all(MARKED_FILES.map((candidate) => readMarked(root, candidate)))).filter(
		(file) => file !== null,
	);
	const isPeers = backups.length > 0 || marked.some(({ installed }) => installed.includes(SIGNATURE));
	const files = isPeers ? marked : []; // Else a method of that name is pi's own.
	return {
		root,
		version,
		files: await Promise.all(
			files.map(async ({ marked: kind, path, installed, mode }): Promise<PatchedFile> => {
				const found = await findBackup(kind, { path, installed: installed.toString("utf8"), version, backups });
				return { file: kind.file, path, installed, mode, ...found };
			}),
		),
	};
}

/** Whether a file that was read is free of the patch. */
export function isClean(file: string, content: Buffer): boolean {
	const marked = MARKED_FILES.find((candidate) => candidate.file === file);
	return marked !== undefined && !isMarked(marked, content.toString("utf8"));
}

async function versionOf(root: string): Promise<string | null> {
	const manifest = await readJson(join(root, "package.json"));
	return manifest?.name === PACKAGE && typeof manifest.version === "string" ? manifest.version : null;
}

/** The file, when it is a plain one within pi and is marked. */
async function readMarked(
	root: string,
	marked: MarkedFile,
): Promise<{
	readonly marked: MarkedFile;
	readonly path: string;
	readonly installed: Buffer;
	readonly mode: number;
} | null> {
	const path = join(root, "dist", ...marked.file.split("/"));
	const installed = await readPlain(path, root);
	if (installed === null || !isMarked(marked, installed.toString("utf8"))) return null;
	return { marked, path, installed, mode: (await stat(path)).mode & 0o777 };
}

/** Newest first; those of another place of pi are left out. */
async function backupsIn(directory: string, root: string): Promise<readonly Backup[]> {
	const names = await readdir(directory).catch(() => []); // There was never a backup.
	const backups = await Promise.all(
		names.slice(0, MAX_BACKUPS).map(async (name): Promise<Backup | null> => {
			const manifest = await readJson(join(directory, name, "VERSION"));
			if (manifest === null || typeof manifest.version !== "string") return null;
			const { version, root: of = root, createdAt } = manifest;
			const isHere = typeof of === "string" && (await realpath(of).catch(() => null)) === root; // It may be gone.
			const madeMs = typeof createdAt === "string" ? Date.parse(createdAt) || 0 : 0;
			return isHere ? { directory: join(directory, name), version, madeMs } : null;
		}),
	);
	return backups.filter((backup) => backup !== null).toSorted((a, b) => b.madeMs - a.madeMs);
}

async function findBackup(
	marked: MarkedFile,
	known: {
		readonly path: string;
		readonly installed: string;
		readonly version: string;
		readonly backups: readonly Backup[];
	},
): Promise<Pick<PatchedFile, "backup" | "problem">> {
	const { version, backups } = known;
	const fitting = backups.filter((backup) => backup.version === version);
	if (fitting.length === 0) {
		const others = [...new Set(backups.map((backup) => backup.version))];
		const only = others.length === 0 ? "" : `, only of ${others.join(", ")}`;
		return { backup: null, problem: `there is no backup of pi ${version}${only}` };
	}
	let problem = "";
	for (const { directory } of fitting) {
		const path = join(directory, ...marked.file.split("/"));
		const content = await readPlain(path, directory);
		const reason =
			content === null ? "it is not in the backup" : await problemOf(content.toString("utf8"), marked, known);
		if (content !== null && reason === "") return { backup: { path, content }, problem: "" };
		problem ||= reason;
	}
	return { backup: null, problem };
}

/** Why a backup is not what pi shipped; "" when it is. */
async function problemOf(
	text: string,
	marked: MarkedFile,
	{ path, installed }: { readonly path: string; readonly installed: string },
): Promise<string> {
	if (isMarked(marked, text)) return "its backup is patched, too";
	if (marked.change === "insertion")
		return isInsertionInto(text, installed) ? "" : "the installed file is not its backup with the patch in it";
	const loaded = loadedBy(text);
	if (loaded.length === 0) return "its backup does not look like pi's start file";
	for (const name of loaded) {
		const isThere = await stat(join(dirname(path), name)).then(
			(file) => file.isFile(),
			() => false, // Of another build.
		);
		if (!isThere) return `its backup loads ${name}, which this pi does not have`;
	}
	return "";
}

/** The content of a plain file that really lies within `root`; null when it is none, or has more than 4 MiB. */
async function readPlain(path: string, root: string): Promise<Buffer | null> {
	const [real, realRoot] = await Promise.all([
		realpath(path).catch(() => null), // Not there.
		realpath(root).catch(() => null), // The same.
	]);
	if (real === null || realRoot === null || !real.startsWith(realRoot + sep)) return null;
	const isFile = (await stat(real)).isFile();
	return isFile ? readUpTo(real, MAX_FILE_BYTES).catch(() => null) : null; // Unreadable is as good as not there.
}

async function readJson(path: string): Promise<Readonly<Record<string, unknown>> | null> {
	try {
		const value: unknown = JSON.parse((await readUpTo(path, MAX_MANIFEST_BYTES))?.toString("utf8") ?? "null");
		return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
	} catch {
		return null; // Missing, or half of it: no backup, and no pi.
	}
}
