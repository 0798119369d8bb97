/** A client of `pi --mode rpc`: raw JSONL over the pipes of a real pi. */
import type { JsonAgentSessionEvent } from "@earendil-works/pi-coding-agent";
import { until } from "./condition.ts";
import { type Exit, type PiOptions, PiProcess } from "./pi-process.ts";
import type { Sandbox } from "./sandbox.ts";

type Response = {
	readonly type: "response";
	readonly id?: string;
	readonly success: boolean;
	readonly data?: unknown;
	readonly error?: string;
};

export class RpcClient {
	readonly pi: PiProcess;
	#requestCount = 0;

	constructor(sandbox: Sandbox, options: PiOptions = {}) {
		this.pi = new PiProcess(sandbox, ["--mode", "rpc"], { ...options, openInput: true });
	}

	get records(): readonly JsonAgentSessionEvent[] {
		return this.pi.records;
	}

	/** Sends a command and resolves with the data of its response. Rejects when pi refuses it. */
	async request<T = unknown>(type: string, fields: object = {}): Promise<T> {
		const id = `t${++this.#requestCount}`;
		this.pi.send({ id, type, ...fields });
		const record = await this.pi.record(`response to ${type}`, (candidate) => isResponse(candidate, id));
		const response = record as unknown as Response;
		if (!response.success) throw new Error(`${type}: ${response.error}`);
		return response.data as T;
	}

	/** Sends a prompt; resolves with the position in `records` from which its turn is found. */
	async begin(message: string, fields: object = {}): Promise<number> {
		const from = this.records.length;
		await this.request("prompt", { message, ...fields });
		return from;
	}

	/** Waits until pi has nothing more to do and answers the records of the turn. */
	async settled(from: number): Promise<readonly JsonAgentSessionEvent[]> {
		await this.pi.record("agent_settled", (record) => record.type === "agent_settled", from);
		this.pi.noteGuardians();
		const end = this.records.findIndex((record, index) => index >= from && record.type === "agent_settled");
		return this.records.slice(from, end + 1);
	}

	/** A whole turn. */
	async prompt(message: string): Promise<readonly JsonAgentSessionEvent[]> {
		return this.settled(await this.begin(message));
	}

	/** A command of an extension: done when pi answers. */
	async command(message: string): Promise<void> {
		await this.request("prompt", { message });
	}

	/** Notices the extensions have shown so far. */
	notices(): readonly string[] {
		return (this.records as readonly unknown[]).flatMap((record) => {
			const request = record as { type: string; method?: string; message?: string };
			return request.type === "extension_ui_request" && request.method === "notify" ? (request.message ?? "") : [];
		});
	}

	async notice(text: string): Promise<void> {
		await until(
			() => `notice "${text}" among ${JSON.stringify(this.notices())}`,
			() => this.notices().some((notice) => notice.includes(text)),
		);
	}

	/** Closes pi's stdin and waits for its end. */
	async close(): Promise<Exit> {
		this.pi.noteGuardians();
		this.pi.endInput();
		return this.pi.finished();
	}
}

function isResponse(record: unknown, id: string): boolean {
	const response = record as Response;
	return response.type === "response" && response.id === id;
}
