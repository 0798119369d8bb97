/**
 * What is left of the account's quota: agy's own `/usage`, which costs no tokens, in a process of its own. The last answer
 * is kept in quota.json with its time.
 */

import { AgyError } from "../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../shared/events.ts";
import { redact } from "../../shared/redact.ts";
import type { Binary } from "../binary.ts";
import type { Config } from "../config.ts";
import type { JsonStore } from "../json-store.ts";
import type { ProcessRegistry } from "../processes/registry.ts";
import { type CommandResult, runCommand } from "../processes/run.ts";

export type QuotaBucket = {
	readonly id: string;
	/** Such as "5h" and "weekly"; "" when agy does not say. */
	readonly window: string;
	/** 0 to 1. */
	readonly remaining: number;
	/** Null when agy does not say. */
	readonly resetsAtMs: number | null;
};

export type QuotaGroup = { readonly name: string; readonly buckets: readonly QuotaBucket[] };

export type Quota = { readonly groups: readonly QuotaGroup[]; readonly fetchedAtMs: number };

/** What agy is given, and what it gets on top before it is stopped: its start alone takes up to 12 s. */
const AGY_TIMEOUT = "30s";
const TIMEOUT_MS = 35_000;
const MAX_BYTES = 1024 * 1024;
/** The figures move with each turn; asked again sooner they hardly differ, and agy takes seconds to start. */
export const QUOTA_FRESH_MS = 30_000;
const SHORTEST_FIRST = ["5h", "daily", "weekly"];
const MAX_EXCERPT_CHARS = 200;

export class QuotaReader {
	readonly #store: JsonStore;
	readonly #registry: () => ProcessRegistry;

	/** `store` is quota.json. */
	constructor(store: JsonStore, registry: () => ProcessRegistry) {
		this.#store = store;
		this.#registry = registry;
	}

	/** The last answer for this agy, however old; null when there is none. */
	async kept(config: Config): Promise<Quota | null> {
		const file = await this.#store.read();
		if (file.bin !== (config.bin ?? "agy") || typeof file.fetchedAtMs !== "number") return null;
		const groups = toGroups(file.data);
		return groups.length === 0 ? null : { groups, fetchedAtMs: file.fetchedAtMs };
	}

	/** Asks agy. Throws `agy-too-old`, `agy-failed`, `bad-output` or `cancelled`; a disk that cannot be written does no harm. */
	async ask(binary: Binary, config: Config, signal: AbortSignal): Promise<Quota> {
		if (binary.missingFlags.includes("output-format"))
			throw new AgyError("agy-too-old", `agy ${binary.version} cannot tell its quota. Run \`agy update\`.`);
		const limit = binary.missingFlags.includes("print-timeout") ? [] : ["--print-timeout", AGY_TIMEOUT];
		const result = await runCommand(
			{
				bin: binary.path,
				args: ["--output-format", "json", ...limit, "-p", "/usage"],
				env: config.childEnv,
				timeoutMs: TIMEOUT_MS,
				maxBytes: MAX_BYTES,
				signal,
			},
			this.#registry(),
		);
		const data = toData(result);
		const quota = { groups: toGroups(data), fetchedAtMs: Date.now() };
		if (quota.groups.length === 0)
			throw new AgyError("bad-output", "agy answered /usage without any quota. Look at it in agy itself: /usage.");
		await this.#store
			.update(() => ({ version: 1, bin: config.bin ?? "agy", fetchedAtMs: quota.fetchedAtMs, data: data ?? null }))
			.catch(() => {}); // Only kept for later.
		return quota;
	}
}

/** Groups of a `/usage` answer with the shortest window first; what has another shape is left out. */
export function toGroups(data: JsonValue | undefined): readonly QuotaGroup[] {
	return list(fieldsOf(data).groups).flatMap((entry, index) => {
		const group = fieldsOf(entry);
		const buckets = list(group.buckets).flatMap((bucket) => toBucket(fieldsOf(bucket)) ?? []);
		if (buckets.length === 0) return [];
		const name = text(group.name) || text(group.display_name) || `group ${index + 1}`;
		return { name, buckets: buckets.toSorted((a, b) => rankOf(a) - rankOf(b)) };
	});
}

function toBucket(bucket: JsonObject): QuotaBucket | null {
	const remaining = Number(bucket.remaining_fraction ?? Number.NaN);
	if (!Number.isFinite(remaining)) return null;
	const id = text(bucket.id) || text(bucket.bucket_id);
	const resetsAtMs = Date.parse(text(bucket.reset_time));
	return {
		id,
		window: text(bucket.window) || (id.split("-").at(-1) ?? ""),
		remaining: Math.min(1, Math.max(0, remaining)),
		resetsAtMs: Number.isFinite(resetsAtMs) ? resetsAtMs : null,
	};
}

function rankOf({ window }: QuotaBucket): number {
	const rank = SHORTEST_FIRST.indexOf(window);
	return rank === -1 ? SHORTEST_FIRST.length : rank;
}

/** The `data` of agy's answer. Throws why there is none. */
function toData(result: CommandResult): JsonValue | undefined {
	if (!result.ok) {
		if (result.reason === "cancelled") throw new AgyError("cancelled", "Asking agy for its quota was stopped.");
		throw new AgyError("agy-failed", `agy did not tell its quota: ${result.error.message}. Try again.`);
	}
	const answer = parseAnswer(result.stdout);
	const payload = fieldsOf(answer.result ?? answer);
	const command = fieldsOf(payload.command);
	if (command.name === "usage") return command.data;
	const failure = text(payload.error) || lastLine(result.stderr) || lastLine(result.stdout);
	if (/authenticat|not (?:logged|signed) in|sign in|log in/i.test(failure))
		throw new AgyError("agy-failed", "agy is not signed in. Run `agy` in a terminal once.");
	if (payload.status === undefined && failure !== "")
		throw new AgyError("bad-output", `agy did not tell its quota, it said: ${excerpt(failure)}`);
	const what = failure === "" ? `nothing of use, and exited with code ${result.code}` : excerpt(failure);
	throw new AgyError("agy-failed", `agy did not tell its quota: ${what}. agy 1.1.9 or newer has /usage.`);
}

/** One JSON object, perhaps behind a banner. */
function parseAnswer(stdout: string): JsonObject {
	const start = stdout.indexOf("{");
	if (start === -1) return {};
	try {
		return fieldsOf(JSON.parse(stdout.slice(start, stdout.lastIndexOf("}") + 1)) as JsonValue);
	} catch {
		return {}; // The caller says what was printed instead.
	}
}

function fieldsOf(value: JsonValue | undefined): JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
	return Array.isArray(value) ? value : [];
}

function text(value: JsonValue | undefined): string {
	return typeof value === "string" ? value : "";
}

function lastLine(output: string): string {
	return output.trim().split("\n").at(-1) ?? "";
}

function excerpt(said: string): string {
	return redact(said).slice(0, MAX_EXCERPT_CHARS);
}
