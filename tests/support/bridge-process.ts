/**
 * A pi process with a bridge, for the tests of several. Arguments: the root of a bridge home, what to do, and how often.
 * `register` and `hold` print a line when done and stay until they are killed, or give back on SIGTERM; `churn` registers
 * and removes, and ends.
 */
import { serverNameOf } from "../../src/main/bridge/bridge-record.ts";
import { openBridgeHome } from "./bridge-home.ts";

const [root = "", what = "", times = "1"] = process.argv.slice(2);
const { registration, suppression } = openBridgeHome(root);

async function register(session: string): Promise<string> {
	const serverName = await serverNameOf(session);
	await registration.register({
		serverName,
		url: `http://127.0.0.1:${process.pid}/mcp`,
		headers: { authorization: `Bearer ${process.pid}-${session}` },
	});
	return serverName;
}

async function stay(got: string, giveBack: () => Promise<void>): Promise<void> {
	const stayAlive = setInterval(() => {}, 1_000);
	process.once("SIGTERM", () => {
		void giveBack().then(() => {
			console.log("given back");
			clearInterval(stayAlive);
		});
	});
	console.log(got);
}

if (what === "register") await stay(await register("session"), () => registration.close());
else if (what === "hold") await stay("held", await suppression.hold());
else if (what === "churn") {
	for (let index = 0; index < Number(times); index++) {
		const names = await Promise.all([register(`a${index}`), register(`b${index}`)]);
		await registration.close();
		console.log(names.join(" "));
	}
} else throw new Error(`nothing is known of ${what}`);
