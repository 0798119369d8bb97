/**
 * A daemon left behind by a tool: holds the pipes it inherited until its gate file appears or it is killed.
 * Arguments: path of the gate file, then the signals to ignore. Also leaves when the folder of the gate is gone.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { watchFolder } from "./watch-folder.ts";

const [gatePath = "", ...ignoredSignals] = process.argv.slice(2);

for (const name of ignoredSignals) process.on(name, () => {});
watchFolder(dirname(gatePath), leaveWhenOpen, true);
leaveWhenOpen();
process.send?.("ready");

function leaveWhenOpen(): void {
	if (existsSync(gatePath) || !existsSync(dirname(gatePath))) process.exit(0);
}
