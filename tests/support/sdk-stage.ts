/**
 * Many short pi sessions in the process of one test file, each with a scenario, settings and a workspace of its own. The
 * sandbox and what the sessions of a process share are made once; after each test no agy may be left.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { loadConfig } from "../../src/main/config.ts";
import { HubShare } from "../../src/main/hub.ts";
import { until } from "./condition.ts";
import { guardiansOf, type ProcessRow, zombiesOf } from "./process-table.ts";
import { Sandbox, type ScenarioData } from "./sandbox.ts";
import { enterSandbox, type SdkOptions, SdkSession } from "./sdk-session.ts";

export type StageOptions = Omit<SdkOptions, "cwd"> & {
	/** Default: echo. */
	readonly scenario?: string | ScenarioData;
	readonly env?: Readonly<Record<string, string>>;
	/** Version of agy, which is another binary then. */
	readonly version?: string;
	/** Where the session works; default: a folder of its own. */
	readonly workspace?: string;
	/** The tests of a describe share it: it outlives them, with its agy, and whoever opened it closes it. */
	readonly isKept?: true;
};

export class SdkStage {
	readonly #sessions: SdkSession[] = [];
	readonly #kept: SdkSession[] = [];
	#sandbox: Sandbox | undefined;
	#share: HubShare | undefined;
	#leave: () => void = () => {};
	#count = 0;
	#opening: Promise<unknown> = Promise.resolve();

	/** To be made at the top of a test file. */
	constructor() {
		beforeAll(() => {
			this.#sandbox = new Sandbox();
			this.#sandbox.seedModels();
			this.#leave = enterSandbox(this.#sandbox);
			this.#share = new HubShare(loadConfig());
			this.#share.get();
		});
		afterEach(async () => {
			await this.closeSessions();
			const { sandbox } = this;
			sandbox.noteGuardians(guardiansOf(process.pid));
			await until(
				() => `no agy is left: ${JSON.stringify(this.#left())}`,
				() => this.#left().length === 0 && zombiesOf(process.pid).length === 0,
			);
		});
		afterAll(async () => {
			await this.#share?.release();
			this.#leave();
			await this.#sandbox?.close();
		});
	}

	get sandbox(): Sandbox {
		if (!this.#sandbox) throw new Error("the stage is not set before the first test");
		return this.#sandbox;
	}

	/** One after the other, for the settings come through the environment of this process. */
	open(options: StageOptions = {}): Promise<SdkSession> {
		const opened = this.#opening.then(() => this.#open(options));
		this.#opening = opened.catch(() => {}); // told by what is returned
		return opened;
	}

	async #open(options: StageOptions): Promise<SdkSession> {
		const { scenario, env, version, workspace, isKept, ...more } = options;
		const name = workspace ?? `work-${++this.#count}`;
		const cwd = join(this.sandbox.workspace, name);
		mkdirSync(cwd, { recursive: true });
		const before = { ...process.env };
		Object.assign(process.env, {
			AGY_SIM_SCENARIO: this.sandbox.scenarioSetting(scenario ?? "echo"),
			...(version !== undefined && { AGY_SIM_VERSION: version, AGY_BIN: this.#binary(version) }),
			...env,
		});
		try {
			// The settings are read while the session is made, and kept.
			const session = await SdkSession.open(this.sandbox, { ...more, cwd });
			(isKept ? this.#kept : this.#sessions).push(session);
			return session;
		} finally {
			for (const variable of Object.keys(process.env)) if (!(variable in before)) delete process.env[variable];
			Object.assign(process.env, before);
		}
	}

	/** Runs of agy, and what they started, that no kept session has. */
	#left(): readonly ProcessRow[] {
		const kept = this.#kept.filter((session) => !session.isClosed).flatMap((session) => session.runs());
		return this.sandbox.agyProcesses().filter((row) => !kept.some((run) => run.pid === row.pid));
	}

	/** Ends every session that is open, but for the kept ones. */
	async closeSessions(): Promise<void> {
		await Promise.all(this.#sessions.splice(0).map((session) => session.close()));
	}

	/** The state of a file is asked for its version only once. */
	#binary(version: string): string {
		return this.sandbox.write(`bin/agy-${version}`, `#!/bin/sh\nexec '${this.sandbox.env.AGY_BIN}' "$@"\n`, 0o700);
	}
}
