/**
 * The simulated process as a whole: its settings, state folder, scenario and pipes, and the one way out.
 * Life story: 1. opened by main.ts before the arguments are looked at, 2. shared by whatever mode runs, 3. left once,
 * through leave() or die(), with stdout flushed and the exit journaled.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { type Home, openHome } from "../process/home.ts";
import { type Journal, openJournal } from "../process/journal.ts";
import type { Settings } from "../process/settings.ts";
import { SignalInbox } from "../process/signal-inbox.ts";
import { type Behaviour, behaviourOf } from "../scenario/behaviour.ts";
import type { Scenario } from "../scenario/scenario.ts";
import { Stdout } from "../wire/stdout.ts";

const DEFAULT_VERSION = "1.2.17";
const READER_GONE_EXIT_CODE = 141;
const SIGNAL_EXIT_DELAY_MS = 1000;

export class Simulation {
	readonly settings: Settings;
	readonly scenario: Scenario;
	readonly version: string;
	readonly behaviour: Behaviour;
	readonly home: Home;
	readonly journal: Journal;
	readonly signals: SignalInbox;
	readonly stdout: Stdout;
	readonly #stderr: Stdout;
	readonly #cleanUps: (() => void)[] = [];
	#logPath: string;
	#left = false;

	constructor(settings: Settings, scenario: Scenario, argv: readonly string[]) {
		this.settings = settings;
		this.scenario = scenario;
		this.home = openHome(settings.homePath);
		this.journal = openJournal(this.home.journalPath);
		this.version = settings.version ?? versionOf(scenario, this.journal);
		this.behaviour = behaviourOf(this.version, scenario.behaviour ?? {});
		this.#logPath = this.home.logPath;
		this.journal.append({
			kind: "start",
			argv,
			cwd: process.cwd(),
			env: Object.keys(process.env).sort(),
			scenario: settings.scenario,
			version: this.version,
		});
		this.signals = new SignalInbox(this.journal, () => void this.leave(0));
		this.stdout = new Stdout(process.stdout, settings.chunkBytes, () => this.#exit(READER_GONE_EXIT_CODE));
		this.#stderr = new Stdout(process.stderr, 0, () => {}); // nobody has to read stderr
	}

	writeStderr(line: string): Promise<void> {
		return this.#stderr.writeLine(line);
	}

	/** A failure notice, with the prefix newer versions put before it. */
	writeError(message: string): Promise<void> {
		return this.writeStderr(this.behaviour.errorPrefix ? `error: ${message}` : message);
	}

	/** The log is redirected, not copied. */
	logTo(path: string): void {
		this.#logPath = path;
	}

	/** One line in the form of agy's log; the time is fixed like every figure here. */
	log(message: string): void {
		mkdirSync(dirname(this.#logPath), { recursive: true, mode: 0o700 });
		appendFileSync(this.#logPath, `I0101 00:00:00.000000 ${process.pid} cli.go:1] ${message}\n`, { mode: 0o600 });
	}

	/** Runs when the process leaves in an orderly way or crashes by script, not when it is killed. */
	onLeave(cleanUp: () => void): void {
		this.#cleanUps.push(cleanUp);
	}

	/** Ends the process; never resolves. The first call decides the code. */
	async leave(code: number): Promise<never> {
		if (!this.#left) {
			this.#left = true;
			await Promise.all([this.stdout.flush(), this.#stderr.flush()]);
			this.#exit(code);
		}
		return new Promise(() => {});
	}

	/** Ends the process by a signal, as a crash would; what was written before is on the pipes. */
	async die(signal: NodeJS.Signals): Promise<never> {
		this.#left = true;
		await Promise.all([this.stdout.flush(), this.#stderr.flush()]);
		this.journal.append({ kind: "exit", code: null, signal });
		process.removeAllListeners(signal);
		process.kill(process.pid, signal);
		setTimeout(() => process.exit(1), SIGNAL_EXIT_DELAY_MS); // a signal Node does not die of
		return new Promise(() => {});
	}

	#exit(code: number): void {
		for (const cleanUp of this.#cleanUps) cleanUp();
		this.journal.append({ kind: "exit", code });
		process.exit(code);
	}
}

function versionOf(scenario: Scenario, journal: Journal): string {
	if (scenario.versions !== undefined && scenario.versions.length > 0) {
		const startsBefore = journal.countStarts(() => true);
		return scenario.versions[Math.min(startsBefore, scenario.versions.length - 1)] ?? DEFAULT_VERSION;
	}
	return scenario.version ?? DEFAULT_VERSION;
}
