/** Scenarios without a fault: the everyday turn in the forms that tests and measurements need most. */
import type { ScenarioFamily } from "../scenario/catalog.ts";

const LONG_TEXT = "One sentence follows another, and none of them says much. ".repeat(12);

export const PLAIN: ScenarioFamily = {
	echo: {
		about: "answers with exactly the prompt it received",
		turns: [{ steps: [{ kind: "text", text: "{{prompt}}" }] }],
	},
	steady: ({ deltas = 200, bytes = 24, rate = 100 }) => ({
		about: "deltas=200,bytes=24,rate=100: numbered deltas of one size, so many a second (0: as fast as possible)",
		turns: [{ steps: [{ kind: "steady", deltas, deltaBytes: bytes, deltasPerSecond: rate }] }],
	}),
	gated: {
		about: "three deltas, marker `first`, waits for gate `go`, then the rest of the same answer",
		turns: [
			{
				steps: [
					{
						kind: "text",
						text: "",
						deltas: ["one ", "two ", "three ", "four ", "five.\n"],
						pauseAfter: 3,
						marker: "first",
						gate: "go",
					},
				],
			},
		],
	},
	"slow-first": {
		about: "marker `prompted` and gate `go` before the first delta",
		turns: [
			{
				steps: [
					{ kind: "touch", marker: "prompted" },
					{ kind: "wait", gate: "go" },
					{ kind: "text", text: "That took a while.\n" },
				],
			},
		],
	},
	slow: {
		about: "a long answer at 20 tokens a second, long enough to be interrupted",
		tokensPerSecond: 20,
		turns: [
			{
				steps: [
					{ kind: "touch", marker: "speaking" },
					{ kind: "text", text: LONG_TEXT },
				],
			},
		],
	},
	turns: {
		about: "another answer each turn: first, second, then `later` for ever",
		turns: ["First.\n", "Second.\n", "Later.\n"].map((text) => ({ steps: [{ kind: "text", text, deltaChars: 0 }] })),
	},
};
