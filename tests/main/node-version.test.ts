import { expect, test } from "vitest";
import { requireNode } from "../../src/main/node-version.ts";

test.each(["22.19.0", "22.19.1", "22.20.0", "24.0.0", "26.1.0", process.versions.node])(
	"Node %s is new enough",
	(version) => {
		expect(() => requireNode(version)).not.toThrow();
	},
);

test.each(["22.18.9", "20.20.2", "18.0.0", "22.9.0"])("Node %s is refused with what to do", (version) => {
	expect(() => requireNode(version)).toThrow(
		expect.objectContaining({ code: "node-too-old", message: expect.stringContaining(`this is ${version}`) }),
	);
});
