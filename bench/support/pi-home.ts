/**
 * A private place for a pi of the benches: tests/support/sandbox.ts with the stand-in as agy, and with the files in which
 * the extension keeps what it knows of agy and its models, so that neither has to be asked.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Sandbox } from "../../tests/support/sandbox.ts";
import { RELAY } from "./feed.ts";

const STAND_IN = fileURLToPath(new URL("./stand-in.ts", import.meta.url));
const VERSION = "1.2.17";

/** A process that prints by itself (stand-in.ts), or one that is fed (relay.sh). */
export type StandIn = "stand-in" | "relay";

export function openPiHome(agy: StandIn = "stand-in"): Sandbox {
	const sandbox = new Sandbox();
	// The sandbox keeps compiled code between runs: most of what the start of a stand-in costs.
	const cache = join(sandbox.tempDir, "node-compile-cache");
	const node = `NODE_COMPILE_CACHE='${cache}' exec '${process.execPath}' --disable-warning=ExperimentalWarning`;
	const program = agy === "relay" ? `exec sh '${RELAY}'` : `${node} '${STAND_IN}'`;
	const launcher = `#!/bin/sh\n${program} "$@"\n`;
	const bin = sandbox.write(join("bin", "agy"), launcher, 0o700);
	sandbox.env.AGY_BIN = bin;
	sandbox.seedModels();
	const { ino, size, mtimeMs } = statSync(bin);
	const fingerprint = `${ino}:${size}:${mtimeMs}`;
	const probe = { version: VERSION, flags: null, printTimeout: null, fingerprint, probedAtMs: Date.now() };
	sandbox.write("agent/pi-agy/binaries.json", JSON.stringify({ version: 1, binaries: { [bin]: probe } }));
	return sandbox;
}
