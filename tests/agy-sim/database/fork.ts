/**
 * A fork: another conversation with the rows of this one, their ids included, and a link back. Beside it lies an opaque copy
 * in the old format, as agy leaves one.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Home } from "../process/home.ts";
import type { ConversationDatabase } from "./conversation-database.ts";
import { DatabaseFile } from "./database-file.ts";
import { opaqueBytes } from "./field-description.ts";
import { databasePath } from "./neighbours.ts";
import { parentReference, uuidOf } from "./side-blobs.ts";

const FORK = 2;
const LEGACY_BYTES = 4_096;

export function forkDatabase(home: Home, parent: ConversationDatabase, childId: string): void {
	const path = databasePath(home, childId);
	rmSync(path, { force: true });
	parent.file.run("VACUUM INTO ?", [path]);
	const child = new DatabaseFile(path, { schema: {}, exclusive: false, journal: "wal" });
	child.openExisting();
	child.run("PRAGMA journal_mode = WAL");
	child.run("UPDATE trajectory_meta SET cascade_id = ?, trajectory_id = ?", [
		childId,
		uuidOf(`${childId} trajectory 0`),
	]);
	child.put("parent_references", "idx", {
		idx: child.nextIdx("parent_references"),
		data: parentReference(parent.context.trajectoryId, Math.max(0, child.nextIdx("steps") - 1), FORK, parent.id),
	});
	child.close();
	writeFileSync(join(home.conversationsPath, `${childId}.pb`), opaqueBytes(LEGACY_BYTES), { mode: 0o600 });
}
