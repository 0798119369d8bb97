/**
 * Feeds many relays (relay.sh) from one process: prints the load of each into its fifo, where it is copied from within
 * microseconds, and leaves an account of it beside. Takes the plan as an argument; begins when its stdin ends.
 */

import { closeSync, constants, openSync, writeFileSync } from "node:fs";
import type { FeedPlan } from "./feed.ts";
import { LoadPrinter } from "./load-printer.ts";

const [planSource = ""] = process.argv.slice(2);
const { fifos, loads } = JSON.parse(planSource) as FeedPlan;
const feeds = fifos.map((fifo, index) => {
	// For reading as well: an open for writing alone would wait for the relay.
	const fd = openSync(fifo, constants.O_RDWR);
	const printer = new LoadPrinter({ fd });
	printer.say("Ready.");
	return { fifo, fd, printer, load: loads[index] };
});
process.stdin.resume();
process.stdin.once("end", () => {
	for (const { fifo, fd, printer, load } of feeds) {
		if (!load) continue;
		printer.print(load, () => {
			// As it will stand in a result: a string of JSON.
			writeFileSync(`${fifo}.account`, `${JSON.stringify(JSON.stringify(printer.account()))}\n`);
			closeSync(fd);
		});
	}
});
process.stdout.write("up\n");
