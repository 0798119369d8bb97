/**
 * One hook command: run through the shell with the question on stdin, its stdout read as the answer. Failure of any kind is
 * an answer too: a non-zero exit or malformed JSON denies, empty output allows, and the rest is a switch of the scenario.
 */
import { spawn } from "node:child_process";
import type { Behaviour } from "../scenario/behaviour.ts";

export type HookCommand = { readonly type?: string; readonly command: string; readonly timeout?: number };

export type HookAnswer = {
	readonly decision: string;
	readonly reason: string;
};

type HookQuestion = { readonly conversationId: string; readonly [field: string]: unknown };
type Ending = { readonly stdout: string; readonly code: number | null; readonly timedOut: boolean };

const DEFAULT_TIMEOUT_SECONDS = 30;

export async function runHookCommand(
	hook: HookCommand,
	folder: string,
	question: HookQuestion,
	behaviour: Behaviour,
): Promise<HookAnswer> {
	const ending = await runShell(hook, folder, question);
	if (ending.timedOut) {
		const decision = behaviour.hookTimeout === "block" ? "deny" : "allow";
		return { decision, reason: `the hook timed out after ${hook.timeout ?? DEFAULT_TIMEOUT_SECONDS}s` };
	}
	if (ending.code !== 0) return { decision: "deny", reason: `the hook ended with code ${ending.code}` };
	if (ending.stdout.trim() === "") return { decision: "allow", reason: "" };
	try {
		const answer: { readonly decision?: string; readonly reason?: string } = JSON.parse(ending.stdout);
		return { decision: answer.decision ?? behaviour.emptyHookAnswer, reason: answer.reason ?? "" };
	} catch {
		return { decision: "deny", reason: "the hook's answer is not JSON" };
	}
}

function runShell(hook: HookCommand, folder: string, question: HookQuestion): Promise<Ending> {
	const child = spawn("sh", ["-c", hook.command], {
		cwd: folder,
		detached: true, // a group of its own, so that a timeout ends the whole pipeline
		stdio: ["pipe", "pipe", "ignore"],
		env: {
			...process.env,
			ANTIGRAVITY_AGENT: "1",
			ANTIGRAVITY_CONVERSATION_ID: question.conversationId,
			ANTIGRAVITY_TRAJECTORY_ID: question.conversationId,
		},
	});
	let stdout = "";
	let timedOut = false;
	child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
		stdout += chunk;
	});
	child.stdin.on("error", () => {}); // the hook need not read its question
	child.stdin.end(`${JSON.stringify(question)}\n`);
	const timeout = setTimeout(
		() => {
			timedOut = true;
			if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
		},
		(hook.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
	);
	return new Promise((resolve) => {
		child.on("error", () => resolve({ stdout, code: 127, timedOut }));
		child.on("close", (code) => {
			clearTimeout(timeout);
			resolve({ stdout, code, timedOut });
		});
	});
}
