/**
 * `/agy uninstall`: removes everything of pi-agy's from this machine and proves it by looking again. It asks first, refuses
 * while another pi uses the same folder, and leaves what is not proven to be its own.
 */

import { access } from "node:fs/promises";
import { join } from "node:path";
import type { SourceInfo } from "@earendil-works/pi-coding-agent";
import { AgyError } from "../../shared/errors.ts";
import type { Config } from "../config.ts";
import type { Hub } from "../hub.ts";
import type { ProcessIdentity } from "../processes/proof.ts";
import {
	type Footprint,
	type Item,
	type Left,
	type Places,
	placesLookedAt,
	recordedTemp,
	survey,
} from "../uninstall/footprint.ts";
import { removeItems } from "../uninstall/remove.ts";
import { consent, YES } from "./consent.ts";
import type { Answer, Request, Subcommand } from "./subcommand.ts";

export type UninstallParts = {
	readonly config: Pick<Config, "dataDir" | "geminiDir">;
	/** Null while nothing was started. */
	readonly hub: () => Hub | null;
	/** Other sessions of this process that use pi-agy. */
	readonly otherSessions: () => number;
	/** How this copy got into pi; null when pi does not say. */
	readonly source: () => Pick<SourceInfo, "source" | "scope" | "origin"> | null;
	/** Ends all that this session has started; nothing is started by it any more. */
	readonly end: () => Promise<void>;
};

/** What is still being written when all has ended is gone at the second look. */
const MAX_ROUNDS = 3;
/** Of the listing, which a dialog on a small screen shows; with --json all of it is told. */
const MAX_LINES = 15;

export function uninstallCommand(parts: UninstallParts): Subcommand {
	return {
		name: "uninstall",
		usage: `[${YES}]`,
		about: "Remove everything of pi-agy's from this machine, and prove it. Asks first.",
		run: async (request) => {
			const unknown = request.words.find((word) => word !== YES);
			if (unknown !== undefined)
				throw new AgyError("bad-argument", `/agy uninstall ${unknown} is unknown. Use /agy uninstall [${YES}].`);
			return uninstall(parts, request);
		},
	};
}

async function uninstall(parts: UninstallParts, request: Request): Promise<Answer> {
	const { config } = parts;
	if (!request.context.isIdle())
		throw new AgyError("bad-argument", "A turn is running. Let it end, or stop it with Escape, and try again.");
	const running = parts.hub()?.registry.running ?? [];
	const before = await survey(config, running);
	const refused = refusalOf(before, parts.otherSessions());
	if (refused) return refused;
	const packageRemoval = removalOf(parts.source());
	const left = [...before.left, ...(await keptOnPurpose(config, request.context.cwd))];
	const answer = await consent(request, "Remove everything of pi-agy's?", toListing(before.items, left));
	if (answer !== "yes") {
		const how = answer === "no" ? "Nothing was removed." : `Nothing was removed. To remove it: /agy uninstall ${YES}`;
		const data = { removed: [], found: toData(before.items), left, packageRemoval };
		return { text: `${toListing(before.items, left)}\n${how}`, data };
	}

	const knownTemp = await recordedTemp(config);
	// Another one may have come while the question stood there.
	const refusedNow = refusalOf(await survey(config, running), parts.otherSessions());
	if (refusedNow) return refusedNow;
	await parts.end();
	const { after, failed } = await removeAll(config, running, knownTemp);
	const remaining = remainingOf(after.items, failed);
	const isClean = after.items.length === 0;
	const removed = before.items.filter((item) => !after.items.some((still) => isSameItem(item, still)));
	const lines = [
		`Removed: ${countsOf(removed)}.`,
		...(isClean
			? [`Looked again, and nothing of pi-agy's is left in: ${placesLookedAt(config).join("; ")}.`]
			: [
					"Could not be removed:",
					...remaining.map(toLine),
					"Mend what stands in the way, and start pi and this anew.",
				]),
		...(left.length === 0 ? [] : ["Left:", ...left.map(toLine)]),
		packageRemoval,
		"This pi does not use agy any more. Settings in variables (AGY_…) are yours to unset.",
	];
	return {
		text: lines.join("\n"),
		data: {
			...{ removed: toData(removed), left, packageRemoval },
			proof: { isClean, lookedAt: placesLookedAt(config), remaining },
		},
		level: isClean ? "info" : "error",
	};
}

/** Null when nothing stands in the way. */
function refusalOf({ others }: Footprint, otherSessions: number): Answer | null {
	if (others.length === 0 && otherSessions === 0) return null;
	const who =
		others.length > 0
			? `another pi uses pi-agy (process ${others.join(", ")}). Close it`
			: `${otherSessions} other sessions of this pi use pi-agy. Close them`;
	const text = `Nothing was removed: ${who}, then try again.`;
	return { text, data: { refused: text, others, removed: [] }, level: "warning" };
}

async function removeAll(
	config: Places,
	running: readonly ProcessIdentity[],
	knownTemp: readonly string[],
): Promise<{ readonly after: Footprint; readonly failed: readonly Left[] }> {
	let failed: readonly Left[] = [];
	let after = await survey(config, running, knownTemp);
	for (let round = 0; round < MAX_ROUNDS && after.items.length > 0; round++) {
		failed = await removeItems(config, after.items);
		after = await survey(config, running, knownTemp);
	}
	return { after, failed: after.items.length === 0 ? [] : failed };
}

/** What somebody may look for, and is not pi-agy's. */
async function keptOnPurpose({ geminiDir }: Pick<Config, "geminiDir">, cwd: string): Promise<readonly Left[]> {
	const project = join(cwd, ".pi", "pi-agy.json");
	const hasProject = await access(project).then(
		() => true,
		() => false, // The project has no settings.
	);
	return [
		{ path: join(geminiDir, "antigravity-cli"), why: "agy's own conversations and settings" },
		{ path: "pi's session files", why: "they keep the messages" },
		...(hasProject ? [{ path: project, why: "settings of the project, which you wrote" }] : []),
	];
}

function removalOf(source: Pick<SourceInfo, "source" | "scope" | "origin"> | null): string {
	if (source?.origin !== "package" || source.scope === "temporary")
		return "pi was started with this copy of the package: leave it out of the arguments (-e), or of pi's settings.";
	return `To remove the package: pi remove ${source.source}${source.scope === "project" ? " -l" : ""}`;
}

function toListing(items: readonly Item[], left: readonly Left[]): string {
	const shown = items.slice(0, MAX_LINES).map(({ kind, path, name }) => {
		if (kind === "process") return `- agy, process ${name}`;
		return kind === "mcp-entry" ? `- the entry ${name} in ${path}` : `- ${path}`;
	});
	const more = items.length > MAX_LINES ? [`- and ${items.length - MAX_LINES} more`] : [];
	return ["Of pi-agy's, to be removed:", ...shown, ...more, "Left:", ...left.map(toLine)].join("\n");
}

function countsOf(items: readonly Item[]): string {
	const count = (...kinds: readonly Item["kind"][]) => items.filter(({ kind }) => kinds.includes(kind)).length;
	const counts: readonly (readonly [number, string, string])[] = [
		[
			count("file", "folder", "session-folder"),
			"file or folder of the data folder",
			"files and folders of the data folder",
		],
		[count("agent-file"), "agent file", "agent files"],
		[count("mcp-entry"), "entry of mcp_config.json", "entries of mcp_config.json"],
		[count("mcp-schemas"), "tool list that agy kept of it", "tool lists that agy kept of them"],
		[count("temp-folder"), "temporary folder", "temporary folders"],
		[count("process"), "process", "processes"],
	];
	const said = counts
		.filter(([number]) => number > 0)
		.map(([number, one, many]) => `${number} ${number === 1 ? one : many}`);
	return said.length === 0 ? "nothing" : said.join(", ");
}

function isSameItem(a: Item, b: Item): boolean {
	return a.kind === b.kind && a.path === b.path && a.name === b.name;
}

/** Each path once, with the reason where the system gave one. */
function remainingOf(items: readonly Item[], failed: readonly Left[]): readonly Left[] {
	const paths = new Set(failed.map(({ path }) => path));
	return [...failed, ...items.filter(({ path }) => !paths.has(path)).map(toLeft)];
}

function toLeft({ kind, path, name }: Item): Left {
	if (kind === "process") return { path: `process ${name}`, why: "it still runs" };
	return { path, why: kind === "mcp-entry" ? `the entry ${name} is still there` : "it is still there" };
}

function toLine({ path, why }: Left): string {
	return `- ${path}: ${why}`;
}

function toData(items: readonly Item[]) {
	return items.map(({ kind, path, name }) => ({ kind, path, name }));
}
