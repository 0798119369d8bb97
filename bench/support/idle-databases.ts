/**
 * Sessions that wait, in a process of their own: many open databases looked at by one scheduler while nothing is
 * committed. Arguments: folder, databases, milliseconds. Prints the share of a core that it took.
 */

import { setTimeout as delay } from "node:timers/promises";
import { ConversationDb } from "../../src/workers/poll/conversation-db.ts";
import { Scheduler } from "../../src/workers/poll/scheduler.ts";
import { ConversationWriter } from "./conversation-writer.ts";

/** What runs hundreds of times a second is compiled by then. */
const WARM_UP_MS = 3_000;

const [folder = "", count = "0", ms = "0"] = process.argv.slice(2);
const writers = Array.from({ length: Number(count) }, () => new ConversationWriter(folder, "go"));
const scheduler = new Scheduler();
const dbs = writers.map(({ path }) => {
	const db = ConversationDb.open(path, true);
	if (!(db instanceof ConversationDb)) throw new Error(`${path} cannot be opened: ${db.message}`);
	return db;
});
for (const db of dbs) {
	db.readChanged(0);
	scheduler.add({ concerns: (name) => db.path.endsWith(name), look: () => void db.readChanged(0) }, folder);
}
await delay(WARM_UP_MS);
const before = process.threadCpuUsage();
await delay(Number(ms));
const { user, system } = process.threadCpuUsage(before);
scheduler.close();
for (const db of dbs) db.close();
for (const writer of writers) writer.close();
process.stdout.write(`${(user + system) / 1000 / Number(ms)}\n`);
