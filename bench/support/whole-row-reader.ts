/**
 * The control of the poll suite: all rows of a model's answers are selected and decoded as a whole at each look; what is new
 * is what lies behind the old length. So do the bridges that read agy's databases.
 */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decodeStep } from "../../src/workers/decode/step-payload.ts";

export class WholeRowReader {
	readonly #db: DatabaseSync;
	readonly #lengths = new Map<number, number>();

	/** The only database of a folder; null while there is none that can be read. */
	static open(folder: string): WholeRowReader | null {
		const name = readdirSync(folder).find((candidate) => candidate.endsWith(".db"));
		return name !== undefined && existsSync(join(folder, `${name}-wal`))
			? new WholeRowReader(join(folder, name))
			: null;
	}

	constructor(path: string) {
		this.#db = new DatabaseSync(path, { readOnly: true });
	}

	look(): string {
		return this.decode(this.select());
	}

	select(): readonly { readonly idx: number; readonly payload: Uint8Array }[] {
		const rows = this.#db.prepare("SELECT idx, step_payload AS payload FROM steps WHERE step_type = 15").all();
		return rows as unknown as readonly { readonly idx: number; readonly payload: Uint8Array }[];
	}

	decode(rows: readonly { readonly idx: number; readonly payload: Uint8Array }[]): string {
		let more = "";
		for (const { idx, payload } of rows) {
			const { text } = decodeStep({ idx, type: 15, status: 8, payload }).value;
			const whole = Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString("utf8");
			more += whole.slice(this.#lengths.get(idx) ?? 0);
			this.#lengths.set(idx, whole.length);
		}
		return more;
	}

	close(): void {
		this.#db.close();
	}
}
