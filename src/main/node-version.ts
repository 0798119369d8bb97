/** The Node that pi and the worker threads need. */

import { AgyError } from "../shared/errors.ts";
import { compareVersions } from "./versions.ts";

const MIN_NODE_VERSION = "22.19.0";

/** Throws `node-too-old`; pi shows the message instead of loading the extension. */
export function requireNode(version: string): void {
	if (compareVersions(version, MIN_NODE_VERSION) >= 0) return;
	throw new AgyError(
		"node-too-old",
		`pi-agy needs Node ${MIN_NODE_VERSION} or newer; this is ${version}. In a checkout, start it with \`npm start\`.`,
	);
}
