/** A private folder for each test of a file; removed afterwards. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";

export class Folder {
	#path = "";

	constructor() {
		beforeEach(() => {
			this.#path = mkdtempSync(join(tmpdir(), "pi-agy-test-"));
		});
		afterEach(() => rmSync(this.#path, { recursive: true, force: true }));
	}

	get path(): string {
		return this.#path;
	}

	at(...names: readonly string[]): string {
		return join(this.#path, ...names);
	}
}
