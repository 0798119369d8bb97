import { beforeEach, describe, expect, test } from "vitest";
import { toolsCommand } from "../../../src/main/command/tools-command.ts";

const TOOLS = ["deploy", "Ask the user", "jira"];
let hidden: Set<string>;
let mode: string;

beforeEach(() => {
	hidden = new Set();
	mode = "all";
});

function command() {
	return toolsCommand({ hidden, offered: (out = hidden) => TOOLS.filter((name) => !out.has(name)) }, () => mode);
}

function run(rest: string) {
	const words = rest.split(" ").filter((word) => word !== "");
	return command().run({ rest, words, asJson: false, context: {} as never });
}

describe("/agy tools", () => {
	test("lists what is offered and what is hidden", async () => {
		hidden.add("jira");
		mode = "mcp";
		expect(await run("")).toStrictEqual({
			text: "agy is offered: deploy, Ask the user. Hidden in this session: jira. /agy bridge is mcp.",
			data: { offered: ["deploy", "Ask the user"], hidden: ["jira"], bridge: "mcp" },
		});
	});

	test("hides a tool whose name has spaces, in any case, and shows it again", async () => {
		expect((await run("hide  ask the user")).data).toMatchObject({ hidden: ["Ask the user"] });
		expect((await run("show Ask the user")).data).toMatchObject({ hidden: [] });
	});

	test("resets all at once", async () => {
		await run("hide deploy");
		await run("hide jira");
		expect((await run("reset")).data).toMatchObject({ offered: TOOLS, hidden: [] });
	});

	test.each([
		["hide jirra", 'There is no tool "jirra" here. Did you mean jira? Tools: deploy, Ask the user, jira.'],
		["hide", "No tool is named. Tools: deploy, Ask the user, jira."],
		["show jira", 'There is no tool "jira" here. There is none.'],
		["hidee x", "/agy tools hidee is unknown. Did you mean hide?"],
	])("/agy tools %s is refused", async (rest, message) => {
		await expect(run(rest)).rejects.toThrow(message);
		expect(hidden.size).toBe(0);
	});

	test.each<[readonly string[], readonly string[]]>([
		[[], ["hide", "show", "reset"]],
		[["hide"], ["deploy", "Ask the user"]],
		[["show"], ["jira"]],
		[["reset"], []],
		[["hide", "Ask"], []],
	])("completes %j", async (words, expected) => {
		hidden.add("jira");
		expect((await command().complete?.(words))?.map(({ value }) => value)).toStrictEqual(expected);
	});
});
