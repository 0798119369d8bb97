/**
 * Two projects: `unit` mirrors src/ and is pure and fast; `integration` uses real threads, real processes and real pi.
 * Both run in forks, so that a child's or thread's end is a real one; the files of a project share them, because a process
 * for each costs a third of their time, or has to load pi for each. The JSON file is what CI counts from.
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
		// One more than the cores: most integration tests wait for processes.
		maxWorkers: availableParallelism() + 1,
		globalSetup: ["tests/start/private-environment.ts", "tests/start/built-simulator.ts"],
		reporters: ["default", ["json", { outputFile: ".ci/out/tests.json" }]],
		projects: [
			{
				extends: true,
				test: {
					name: "unit",
					isolate: false,
					include: ["tests/{shared,workers,main}/**/*.test.ts", "tests/architecture.test.ts"],
					testTimeout: 30_000,
				},
			},
			{
				extends: true,
				test: {
					name: "integration",
					isolate: false,
					include: ["tests/{integration,simulator,start}/**/*.test.ts"],
					testTimeout: 180_000,
					hookTimeout: 120_000,
				},
			},
		],
	},
});
