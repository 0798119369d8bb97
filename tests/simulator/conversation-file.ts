/**
 * A conversation database as a test reads it: from another process than the writer's, read-only, with a small protobuf
 * reader of its own that follows paths such as "20.1".
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SimulatedAgy } from "./simulated-agy.ts";

export const FIRST_ID = "c0ffee00-0000-4000-8000-000000000001";

export type StepColumns = {
	readonly idx: number;
	readonly step_type: number;
	readonly status: number;
	readonly metadata: Uint8Array | string | null;
	readonly error_details: Uint8Array | null;
	readonly permissions: Uint8Array | null;
	readonly task_details: Uint8Array | null;
	readonly step_payload: Uint8Array | string | null;
};

export class ConversationFile {
	readonly path: string;
	readonly #handles: DatabaseSync[] = [];

	constructor(agy: SimulatedAgy, id = FIRST_ID) {
		this.path = join(agy.home, "antigravity-cli", "conversations", `${id}.db`);
	}

	/** Kept open until close(), like a poller's. */
	open(): DatabaseSync {
		const handle = new DatabaseSync(this.path, { readOnly: true });
		this.#handles.push(handle);
		return handle;
	}

	/** One query with a handle of its own. */
	all(sql: string): readonly Readonly<Record<string, unknown>>[] {
		const handle = new DatabaseSync(this.path, { readOnly: true });
		try {
			return handle.prepare(sql).all();
		} finally {
			handle.close();
		}
	}

	/** The first column of the first row. */
	value(sql: string): unknown {
		return Object.values(this.all(sql)[0] ?? {})[0];
	}

	get steps(): readonly StepColumns[] {
		return this.all("SELECT * FROM steps ORDER BY idx") as readonly StepColumns[];
	}

	/** "idx/type/status" of every row. */
	get outline(): readonly string[] {
		return this.steps.map(({ idx, step_type, status }) => `${idx}/${step_type}/${status}`);
	}

	get types(): readonly number[] {
		return this.steps.map(({ step_type }) => step_type);
	}

	/** Text at a path of a step's payload. */
	text(idx: number, path: string): string | undefined {
		const { step_payload: payload } = this.steps.find((step) => step.idx === idx) ?? {};
		return payload instanceof Uint8Array ? textAt(payload, path) : undefined;
	}

	/** Which of the files beside it are there and not empty. */
	get sidecars(): readonly string[] {
		return ["-journal", "-wal", "-shm"].filter((suffix) => {
			const path = `${this.path}${suffix}`;
			return existsSync(path) && statSync(path).size > 0;
		});
	}

	close(): void {
		for (const handle of this.#handles) if (handle.isOpen) handle.close();
	}
}

/** All values at a path: bigint for varints, bytes for everything else. */
export function valuesAt(message: Uint8Array, path: string): readonly (bigint | Uint8Array)[] {
	const [first, ...rest] = path.split(".");
	const here = fieldsOf(message).flatMap(([field, value]) => (field === Number(first) ? [value] : []));
	if (rest.length === 0) return here;
	return here.flatMap((value) => (typeof value === "bigint" ? [] : valuesAt(value, rest.join("."))));
}

/** The last value wins, as protobuf has it. */
export function bytesAt(message: Uint8Array, path: string): Uint8Array | undefined {
	const value = valuesAt(message, path).at(-1);
	return typeof value === "bigint" ? undefined : value;
}

export function textAt(message: Uint8Array, path: string): string | undefined {
	const bytes = bytesAt(message, path);
	return bytes === undefined ? undefined : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** As int64. */
export function numberAt(message: Uint8Array, path: string): number | undefined {
	const value = valuesAt(message, path).at(-1);
	return typeof value === "bigint" ? Number(BigInt.asIntN(64, value)) : undefined;
}

export function fieldNumbers(message: Uint8Array): readonly number[] {
	return fieldsOf(message).map(([field]) => field);
}

function fieldsOf(message: Uint8Array): readonly (readonly [number, bigint | Uint8Array])[] {
	const fields: (readonly [number, bigint | Uint8Array])[] = [];
	let at = 0;
	const varint = () => {
		let value = 0n;
		for (let shift = 0n; ; shift += 7n) {
			const byte = message[at++];
			if (byte === undefined) throw new Error("cut within a varint");
			value |= BigInt(byte & 0x7f) << shift;
			if (byte < 0x80) return value;
		}
	};
	const bytes = (length: number) => {
		if (at + length > message.length) throw new Error("cut within a field");
		at += length;
		return message.subarray(at - length, at);
	};
	while (at < message.length) {
		const key = varint();
		const field = Number(key >> 3n);
		switch (Number(key & 7n)) {
			case 0:
				fields.push([field, varint()]);
				break;
			case 1:
				fields.push([field, bytes(8)]);
				break;
			case 2:
				fields.push([field, bytes(Number(varint()))]);
				break;
			case 3: // the content of a group is passed by, as the fields of nobody
			case 4:
				break;
			case 5:
				fields.push([field, bytes(4)]);
				break;
			default:
				throw new Error(`wire type ${key & 7n} in field ${field}`);
		}
	}
	return fields;
}
