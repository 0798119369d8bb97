/**
 * From $AGY_SIM_SCENARIO to a scenario: a built-in name, perhaps with arguments (`steady:deltas=10`), or the absolute path
 * of a JSON file.
 */
import { readFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { findBuiltIn } from "./catalog.ts";
import { SCENARIO, type Scenario } from "./scenario.ts";
import { ScenarioError } from "./shape.ts";

export async function loadScenario(nameOrPath: string): Promise<Scenario> {
	if (isAbsolute(nameOrPath)) return readScenarioFile(nameOrPath);
	const [name = "", args = ""] = nameOrPath.split(":");
	const builtIn = await findBuiltIn(name);
	if (builtIn === undefined) {
		throw new ScenarioError(`no built-in scenario is called "${name}", and it is no absolute path of a JSON file`);
	}
	return typeof builtIn === "function" ? builtIn(parseArguments(args)) : builtIn;
}

function readScenarioFile(path: string): Scenario {
	try {
		return SCENARIO(JSON.parse(readFileSync(path, "utf8")), "");
	} catch (cause) {
		throw new ScenarioError(`${path}: ${cause instanceof Error ? cause.message : cause}`, { cause });
	}
}

function parseArguments(args: string): Readonly<Record<string, number>> {
	const numbers: Record<string, number> = {};
	for (const pair of args.split(",").filter((part) => part !== "")) {
		const [key = "", value] = pair.split("=");
		if (!Number.isFinite(Number(value ?? "x")))
			throw new ScenarioError(`scenario argument "${pair}" is not name=number`);
		numbers[key] = Number(value);
	}
	return numbers;
}
