import { mkdirSync, writeFileSync } from "node:fs";
import { ProjectTrustStore } from "@earendil-works/pi-coding-agent";
import { expect, test } from "vitest";
import { projectFileState } from "../../../src/main/settings/project-file.ts";
import { Folder } from "../../support/folder.ts";

const folder = new Folder();

type Case = {
	readonly file: boolean;
	readonly pi: boolean;
	readonly resources?: boolean;
	readonly saved?: boolean | "damaged";
};

test.each<[string, Case, string]>([
	["no file", { file: false, pi: true, saved: true }, "absent"],
	["pi does not trust the project", { file: true, pi: false, resources: true }, "untrusted"],
	["pi trusts it because it holds nothing to ask about", { file: true, pi: true }, "untrusted"],
	["pi has asked about it", { file: true, pi: true, resources: true }, "trusted"],
	["a person has saved a decision", { file: true, pi: true, saved: true }, "trusted"],
	["a person has saved the other one", { file: true, pi: false, saved: false }, "untrusted"],
	["pi's record of decisions is damaged", { file: true, pi: true, saved: "damaged" }, "untrusted"],
])("%s", (_name, { file, pi, resources, saved }, expected) => {
	const cwd = folder.at("project");
	const agentDir = folder.at("agent");
	for (const path of [folder.at("project", ".pi"), agentDir]) mkdirSync(path, { recursive: true });
	if (file) writeFileSync(folder.at("project", ".pi", "pi-agy.json"), "{}");
	if (resources) writeFileSync(folder.at("project", ".pi", "settings.json"), "{}");
	if (saved === "damaged") writeFileSync(folder.at("agent", "trust.json"), "{oops");
	else if (saved !== undefined) new ProjectTrustStore(agentDir).set(cwd, saved);
	expect(projectFileState({ cwd, isProjectTrusted: () => pi }, folder.at("agent", "pi-agy"))).toBe(expected);
});
