import { mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { maskedSettings, maskValue } from "../../../src/main/diagnostics/setting-rows.ts";
import { Settings } from "../../../src/main/settings/settings.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

function rows(env: Readonly<Record<string, string>>, file: object = {}) {
	mkdirSync(folder.at("pi-agy"));
	writeFileSync(folder.at("pi-agy", "config.json"), JSON.stringify(file));
	return maskedSettings(new Settings({ PI_CODING_AGENT_DIR: folder.path, ...env }));
}

describe("the settings", () => {
	test("are told with the place each comes from", () => {
		const all = rows({ AGY_DIGEST: "on" }, { steps: "lines", voiceLanguage: "it" });
		expect(all).toContainEqual({ key: "digest", value: true, source: "AGY_DIGEST" });
		expect(all).toContainEqual({ key: "steps", value: "lines", source: "config.json: steps" });
		expect(all).toContainEqual({ key: "voiceLanguage", value: "it", source: "config.json: voiceLanguage" });
		expect(all).toContainEqual({ key: "engine", value: "stream-json", source: "default" });
	});

	test("hold no secret and nothing of the environment", () => {
		const text = JSON.stringify(
			rows(
				{
					AGY_EXTRA_ARGS: "--token hunter2hunter2",
					AGY_VOICE_COMMAND: "whisper --key hunter2hunter2 {file}",
					AGY_VOICE_GEMINI_URL: "https://host.example/hunter2hunter2?key=hunter2hunter2",
					GEMINI_API_KEY: "hunter2hunter2",
					MY_SECRET: "hunter2hunter2",
				},
				{ passEnv: ["MY_SECRET"] },
			),
		);
		expect(text).not.toContain("hunter2");
		expect(text).toContain("(2 arguments)");
		expect(text).toContain("https://host.example");
	});
});

test.each([
	["https://h.example/", "https://h.example"],
	["https://h.example:8443/v1?x=1", "https://h.example:8443/…"],
	["/home/me/agy", "/home/me/agy"],
	["gemini-3.8-flash", "gemini-3.8-flash"],
	["sk-abcdefghijklmnop", "[secret]"],
])("the value %s is shown as %s", (value, shown) => {
	expect(maskValue(value)).toBe(shown);
	expect(maskValue([value])).toStrictEqual([shown]);
});
