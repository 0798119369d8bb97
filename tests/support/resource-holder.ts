/**
 * A process that holds something of another pi's and is then killed or asked to give it back. Arguments: what, and where.
 * Prints what it got as one line, gives it back on SIGTERM and prints a second line.
 */
import { AgentFiles } from "../../src/main/agent-files.ts";
import { ConversationLocks } from "../../src/main/conversation-locks.ts";
import { JsonStore } from "../../src/main/json-store.ts";
import { Spill } from "../../src/main/spill.ts";

const [what = "", ...places] = process.argv.slice(2);
const [first = "", second = "", third = ""] = places;

const holders: Readonly<Record<string, () => Promise<{ readonly got: string; giveBack(): Promise<void> }>>> = {
	async spill() {
		const spill = new Spill(first);
		return { got: await spill.write("held", "md", "held"), giveBack: () => spill.close() };
	},
	async lock() {
		const locks = new ConversationLocks(first);
		return { got: String(await locks.acquire(second)), giveBack: () => locks.release(second) };
	},
	async agent() {
		const files = new AgentFiles(new JsonStore(first), second);
		return { got: await files.stage(third), giveBack: () => files.close() };
	},
};

const held = await holders[what]?.();
if (!held) throw new Error(`nothing is known of ${what}`);
const stayAlive = setInterval(() => {}, 1_000);
process.once("SIGTERM", () => {
	void held.giveBack().then(() => {
		console.log("given back");
		clearInterval(stayAlive);
	});
});
console.log(held.got);
