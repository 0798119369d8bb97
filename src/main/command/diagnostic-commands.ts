/** `/agy doctor`, `/agy report` and `/agy quota`. */

import { toError } from "../../shared/errors.ts";
import type { JsonObject } from "../../shared/events.ts";
import { type Doctor, type DoctorParts, examine } from "../diagnostics/doctor.ts";
import { renderDoctor } from "../diagnostics/doctor-text.ts";
import { inWords } from "../diagnostics/durations.ts";
import { QUOTA_FRESH_MS, type Quota } from "../diagnostics/quota.ts";
import { renderQuota } from "../diagnostics/quota-text.ts";
import { writeReport } from "../diagnostics/report.ts";
import type { Answer, Request, Subcommand } from "./subcommand.ts";

/** `signal` ends with the session. */
export function diagnosticCommands(parts: DoctorParts, signal: AbortSignal): readonly Subcommand[] {
	const examineFor = ({ context }: Request) => examine(parts, context.sessionManager.getSessionId());
	return [
		{
			name: "doctor",
			usage: "[--json]",
			about: "What to fix first, and the state of everything. Costs no tokens.",
			run: async (request) => {
				const doctor = await examineFor(request);
				return { text: renderDoctor(doctor), data: toData(doctor), level: doctor.isHealthy ? "info" : "warning" };
			},
		},
		{
			name: "report",
			usage: "",
			about: "Write what a bug report needs into one private file, without secrets. It says what it holds.",
			run: async (request) => {
				const { path, holds } = await writeReport(await examineFor(request), parts.settings.config);
				const lines = [path, "It holds:", ...holds.map((line) => `- ${line}`), "Read it before you send it."];
				return { text: lines.join("\n"), data: { path, holds } };
			},
		},
		{
			name: "quota",
			usage: "[--json]",
			about: "What is left of the account's quota. Costs no tokens.",
			run: () => answerQuota(parts, signal),
		},
	];
}

/** Where agy does not answer, the last answer stands below the reason. */
async function answerQuota({ settings, engine, hub, quota }: DoctorParts, signal: AbortSignal): Promise<Answer> {
	const { config } = settings;
	const kept = await quota.kept(config);
	if (kept && Date.now() - kept.fetchedAtMs < QUOTA_FRESH_MS) return toAnswer(kept);
	try {
		const binary = await hub().binaries.find(config, engine.requires);
		return toAnswer(await quota.ask(binary, config, signal));
	} catch (error) {
		if (kept === null || signal.aborted) throw error;
		const { message } = toError(error);
		const age = inWords(Date.now() - kept.fetchedAtMs);
		const text = `${message}\nWhat it said ${age} ago:\n${renderQuota(kept, Date.now())}`;
		return { text, data: { ...quotaData(kept), error: message }, level: "warning" };
	}
}

function toAnswer(quota: Quota): Answer {
	return { text: renderQuota(quota, Date.now()), data: quotaData(quota) };
}

function quotaData({ groups, fetchedAtMs }: Quota): JsonObject {
	return { groups, ageMs: Date.now() - fetchedAtMs };
}

/** Its types hold JSON values only. */
function toData(doctor: Doctor): JsonObject {
	return doctor as unknown as JsonObject;
}
