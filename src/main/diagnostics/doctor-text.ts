/** The state of pi-agy as lines for a terminal: the verdict, then a section each. Pure. */

import type { Drift } from "../../shared/drift.ts";
import type { LaneKind } from "../../shared/lane-control.ts";
import type { Timing } from "../../shared/timing.ts";
import type { LaneHistory, LaneReport, TaskTimes } from "../lanes.ts";
import type { Doctor, LinkRow } from "./doctor.ts";
import { inWords, sizeInWords } from "./durations.ts";
import type { Problem } from "./health.ts";
import type { LifecycleEntry } from "./lifecycle.ts";
import { renderQuota } from "./quota-text.ts";
import type { MaskedSetting } from "./setting-rows.ts";

type Section = { readonly name: string; readonly lines: readonly string[] };

const NAME_WIDTH = 15;
const SHOWN_EVENTS = 8;
const SHOWN_TOOLS = 12;
const SHORT_ID_CHARS = 8;

export function renderDoctor(doctor: Doctor): string {
	const { versions, agy, conversations, models, quota, atMs, log, audio } = doctor;
	const sections: readonly Section[] = [
		{
			name: "versions",
			lines: [`pi-agy ${versions.piAgy}, pi ${versions.pi}, node ${versions.node}, ${versions.platform}`],
		},
		{ name: "agy", lines: agyLines(agy) },
		{ name: "engine", lines: [doctor.engine] },
		{ name: "processes", lines: linkLines(doctor.links) },
		{
			name: "conversations",
			lines: [`${conversations.bound} bound, this session's: ${conversations.here ?? "none yet"}`],
		},
		{ name: "pi's tools", lines: bridgeLines(doctor.bridge) },
		{
			name: "models",
			lines: [
				`${models.count}, ${models.isListed ? "listed by agy" : "built in, agy has not listed its own yet"}${models.ageMs === null ? "" : ` ${inWords(models.ageMs)} ago`}`,
			],
		},
		{ name: "quota", lines: quota === null ? ["not asked yet: /agy quota"] : renderQuota(quota, atMs).split("\n") },
		{ name: "settings", lines: settingLines(doctor.settings) },
		{
			name: "voice",
			lines: [
				`ffmpeg ${audio.ffmpeg ?? "not found"}, recorder ${audio.recorder ?? "none used yet"}, transcriber ${audio.transcriber}, ${audio.hasGoogleKey ? "a" : "no"} key for Gemini`,
			],
		},
		{ name: "workers", lines: workerLines(doctor.workers) },
		{ name: "unknown to us", lines: driftLines(doctor.drift) },
		{
			name: "log",
			lines: [`${log.directory}${log.isDebugging ? "" : " (warnings and errors; AGY_DEBUG=on logs more)"}`],
		},
		{ name: "last events", lines: eventLines(doctor.events, atMs) },
	];
	return [...verdictLines(doctor.problems), "", ...sections.flatMap(sectionLines)].join("\n");
}

function verdictLines(problems: readonly Problem[]): readonly string[] {
	if (problems.length === 0) return ["healthy"];
	const [first, ...others] = problems.map(({ what, remedy }) => `${what} ${remedy}`.trim());
	return [`Fix first: ${first}`, ...others.map((text) => `Also: ${text}`)];
}

function sectionLines({ name, lines }: Section): readonly string[] {
	return lines.map((line, index) => `${(index === 0 ? name : "").padEnd(NAME_WIDTH)} ${line}`.trimEnd());
}

function agyLines({ path, version, needs, warnsBelow, flags, missingFlags, printTimeout }: Doctor["agy"]): string[] {
	const floor = `needs ${needs}, ${warnsBelow} or newer is better`;
	if (path === null) return [`not usable (${floor})`];
	const missing = missingFlags.length === 0 ? "" : `, without ${missingFlags.map((flag) => `--${flag}`).join(", ")}`;
	return [
		`${version} at ${path} (${floor})`,
		`${flags === null ? "flags unknown" : `${flags} flags`}${missing}, own time limit ${printTimeout ?? "not named"}`,
	];
}

function linkLines({ open, started, reused, recycled }: Doctor["links"]): readonly string[] {
	const causes = Object.entries(recycled).filter(([, count]) => count > 0);
	const ended =
		causes.length === 0
			? "none recycled"
			: `recycled: ${causes.map(([cause, count]) => `${count} ${cause}`).join(", ")}`;
	return [
		`${open.length} open, ${started} started, ${count(reused, "turn")} on one that ran before, ${ended}`,
		...open.map(linkLine),
	];
}

function linkLine({ pid, session, state, conversation, model, turns, ageMs, idleMs }: LinkRow): string {
	const whose = session === null ? "a side request" : `session ${session.slice(0, SHORT_ID_CHARS)}`;
	const idle = state === "idle" ? ` for ${inWords(idleMs)}` : "";
	return `  ${pid ?? "starting"}: ${whose}, ${state}${idle}, ${model}, conversation ${conversation?.slice(0, SHORT_ID_CHARS) ?? "unnamed"}, ${count(turns, "turn")}, ${inWords(ageMs)} old`;
}

function bridgeLines(bridge: Doctor["bridge"]): readonly string[] {
	const { mode, port, offered, calls, parked, escalated, escalations, lateResults } = bridge;
	const more = offered.length > SHOWN_TOOLS ? `, and ${offered.length - SHOWN_TOOLS} more` : "";
	const names = offered.length === 0 ? "" : `: ${offered.slice(0, SHOWN_TOOLS).join(", ")}${more}`;
	return [
		`${mode}, ${port === null ? "not running" : `on port ${port}`}, ${offered.length} offered${names}`,
		`${count(calls, "call")}, ${parked} waiting, ${escalated} running on, ${escalations} answered early, ${count(lateResults, "late result")}`,
	];
}

function settingLines(settings: readonly MaskedSetting[]): readonly string[] {
	const changed = settings.filter(({ source }) => source !== "default");
	if (changed.length === 0) return ["all at their defaults"];
	return changed.map(({ key, value, source }) => `${key} = ${JSON.stringify(value)}   from ${source}`);
}

function workerLines({ lanes, kinds, tasks, mainLoopDelay }: Doctor["workers"]): readonly string[] {
	return [
		`main thread: late by ${timingText(mainLoopDelay)}`,
		...lanes.flatMap(laneLines),
		...Object.entries(kinds).flatMap(([kind, history]) => historyLine(kind as LaneKind, history)),
		`tasks: ${tasksText(tasks)}`,
	];
}

function laneLines({ kind, number, links, stats }: LaneReport): readonly string[] {
	const name = `${kind} lane ${number}`;
	if (stats === null) return [`${name}: does not answer, ${count(links, "link")}`];
	const { threadId, events, frames, bytesIn, heldBytes, queuedMessages, pauses, pausedLinks, rejectedLines } = stats;
	const busy = `${(stats.utilization * 100).toFixed(1)} % busy`;
	return [
		`${name}: thread ${threadId}, ${count(links, "link")}, ${count(events, "event")} in ${count(frames, "frame")}, ${sizeInWords(bytesIn)} read, ${busy}`,
		`  decode  ${timingText(stats.decode)}`,
		`  tick    ${timingText(stats.tick)}`,
		`  late by ${timingText(stats.loopDelay)}`,
		`  ${queuedMessages} queued, ${sizeInWords(heldBytes)} held, ${count(pauses, "pause")} (${pausedLinks} now), ${count(rejectedLines, "line")} rejected`,
	];
}

function historyLine(kind: LaneKind, { started, crashes, down }: LaneHistory): readonly string[] {
	if (started === 0) return [];
	const restarts = Math.max(0, Math.min(crashes, started - 1));
	return [
		`${kind}: ${started} started, ${crashes} crashed, ${restarts} restarted${down === null ? "" : ", stay down"}`,
	];
}

function count(number: number, noun: string): string {
	return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** "p50 0.1, p95 0.3, p99 0.9, max 2 ms of 120". */
function timingText({ count, p50Ms, p95Ms, p99Ms, maxMs }: Timing): string {
	if (count === 0) return "nothing yet";
	const [p50, p95, p99, max] = [p50Ms, p95Ms, p99Ms, maxMs].map(shortNumber);
	return `p50 ${p50}, p95 ${p95}, p99 ${p99}, max ${max} ms of ${count}`;
}

function tasksText({ wait, run }: TaskTimes): string {
	const text = ({ p50Ms, p99Ms, maxMs }: TaskTimes["wait"]) =>
		`p50 ${shortNumber(p50Ms)}, p99 ${shortNumber(p99Ms)}, max ${shortNumber(maxMs)} ms`;
	return `waited for a thread ${text(wait)}; ran ${text(run)}`;
}

function shortNumber(value: number): string {
	return value >= 10 ? String(Math.round(value)) : String(Math.round(value * 1000) / 1000);
}

function driftLines(drift: readonly Drift[]): readonly string[] {
	if (drift.length === 0) return ["nothing agy said"];
	return drift.map(({ what, name, count }) => `${what} ${name}: ${count}`);
}

function eventLines(events: readonly LifecycleEntry[], nowMs: number): readonly string[] {
	if (events.length === 0) return ["none"];
	return events.slice(-SHOWN_EVENTS).map(({ timeMs, mark: { event, ...facts } }) => {
		const told = Object.entries(facts).map(([name, value]) => `${name} ${value ?? "none"}`);
		return `${inWords(nowMs - timeMs)} ago: ${[event, ...told].join(", ")}`;
	});
}
