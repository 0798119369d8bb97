/**
 * What bridges.json says, as values: whose each server of ours is, who keeps delegated runs apart, and what had to be made
 * in agy's file. A name is ours by its form alone, so that no damaged record makes pi-agy remove another's entry.
 */

import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import { identify, isAlive, isIdentity, isSame, ownIdentity, type ProcessIdentity } from "../processes/proof.ts";
import type { Made } from "./mcp-config-text.ts";

export type Holder = ProcessIdentity & {
	/** Wall-clock time, in milliseconds since 1970: it has to mean the same to every process. */
	readonly sinceMs: number;
};

export type BridgeRecord = {
	/** The owner of each server, by the server's name. */
	readonly servers: ReadonlyMap<string, ProcessIdentity>;
	/** Who has delegated runs, by an id of its own. */
	readonly holders: ReadonlyMap<string, Holder>;
	/** What had to be made in agy's file, by the path of the file. */
	readonly made: ReadonlyMap<string, Made>;
};

/** No delegated run takes longer. A process that holds for longer has forgotten to let go. */
const HOLD_MAX_MS = 24 * 60 * 60_000;
const NAME = /^pi_(\d+)_[0-9a-f]{8}$/;
const MADE: readonly string[] = ["file", "document", "servers"] satisfies readonly Made[];

/**
 * The name under which agy knows the bridge of one pi session in one process: no other session's calls come in under it,
 * and the same session has the same name again after a reload.
 */
export async function serverNameOf(sessionId: string): Promise<string> {
	const { pid, startTime } = await ownIdentity();
	const digest = createHash("sha256").update(`${pid}\n${startTime}\n${sessionId}`).digest("hex");
	return `pi_${pid}_${digest.slice(0, 8)}`;
}

/** Whether a server name is one that `serverNameOf` makes. */
export function isOurs(name: string): boolean {
	return NAME.test(name);
}

/** Whether the session of a server may still be there. A name without a record counts while its pid is anybody's. */
export async function isInUse(name: string, record: BridgeRecord): Promise<boolean> {
	const owner = record.servers.get(name);
	if (owner) return isPresent(owner);
	return (await identify(pidOf(name))) !== null;
}

/** The pid that a name of ours was made for. */
export function pidOf(name: string): number {
	return Number(NAME.exec(name)?.[1]);
}

/** The holders that are alive and have not forgotten to let go. */
export async function toLiving(holders: ReadonlyMap<string, Holder>): Promise<ReadonlyMap<string, Holder>> {
	const living = new Map<string, Holder>();
	for (const [id, holder] of holders) {
		const isForgotten = Math.abs(Date.now() - holder.sinceMs) > HOLD_MAX_MS;
		if (!isForgotten && (await isPresent(holder))) living.set(id, holder);
	}
	return living;
}

/** What of the file can be understood; the rest counts as not there. */
export function toRecord(file: JsonObject): BridgeRecord {
	const servers = new Map<string, ProcessIdentity>();
	for (const [name, owner] of entriesOf(file.servers)) if (isOurs(name) && isIdentity(owner)) servers.set(name, owner);
	const holders = new Map<string, Holder>();
	for (const [id, holder] of entriesOf(file.holders)) if (isHolder(holder)) holders.set(id, holder);
	const made = new Map<string, Made>();
	for (const [path, what] of entriesOf(file.made)) if (MADE.includes(String(what))) made.set(path, what as Made);
	return { servers, holders, made };
}

/** The file with the record in it; what else it holds stays. */
export function withRecord(file: JsonObject, { servers, holders, made }: BridgeRecord): JsonObject {
	return {
		...file,
		version: 1,
		servers: Object.fromEntries(servers),
		holders: Object.fromEntries(holders),
		made: Object.fromEntries(made),
	};
}

/** This process is there even where the system gives no proof of it. */
async function isPresent(owner: ProcessIdentity): Promise<boolean> {
	return isSame(owner, await ownIdentity()) || isAlive(owner);
}

function entriesOf(value: JsonValue | undefined): readonly (readonly [string, unknown])[] {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

function isHolder(value: unknown): value is Holder {
	return isIdentity(value) && typeof (value as Partial<Holder>).sinceMs === "number";
}
