/**
 * Two projects: `unit` mirrors src/ and is pure and fast; `integration` uses real threads, real processes and real pi.
 * Both run in forks, so that a child's or thread's end is a real one. The JSON file is what CI counts from.
 */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { projectNodeProblem } from "./tests/start/require-node.mjs";

// vitest itself starts on an older Node, and then the tests fail in ways that do not say so.
const problem = projectNodeProblem(process.versions.node);
if (problem !== undefined) {
	console.error(problem);
	process.exit(1);
}

export default defineConfig({
	test: {
		pool: "forks",
		// At least two: most integration tests wait for processes, and vitest would take one on a machine of two cores.
		maxWorkers: Math.max(2, availableParallelism() - 1),
		globalSetup: "tests/start/private-environment.ts",
		reporters: ["default", ["json", { outputFile: ".ci/out/tests.json" }]],
		projects: [
			{
				extends: true,
				test: {
					name: "unit",
					include: ["tests/{shared,workers,main}/**/*.test.ts", "tests/architecture.test.ts"],
					testTimeout: 10_000,
				},
			},
			{
				extends: true,
				test: {
					name: "integration",
					include: ["tests/{integration,simulator,start}/**/*.test.ts"],
					testTimeout: 60_000,
					hookTimeout: 30_000,
				},
			},
		],
	},
});
