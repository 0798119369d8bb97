/** The faults of this process while turns run: a thread of a lane ends, the clock jumps, the disk of the data fails. */
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { until } from "../support/condition.ts";
import { hubs } from "../support/sdk-session.ts";
import type { DataDisk } from "./data-disk.ts";
import type { DiskFault, FaultLog } from "./fault-log.ts";
import type { Report } from "./report.ts";
import type { Fault } from "./schedule.ts";

const HOUR_MS = 3_600_000;

export class Weather {
	readonly #disk: DataDisk;
	readonly #report: Report;
	readonly #log: FaultLog;
	#disks: Promise<void> = Promise.resolve();

	constructor(disk: DataDisk, report: Report, log: FaultLog) {
		this.#disk = disk;
		this.#report = report;
		this.#log = log;
	}

	/** Resolves when it is over. */
	async bring(fault: Fault): Promise<void> {
		switch (fault.kind) {
			case "lane":
				return this.#endThread(fault);
			case "clock":
				return this.#jumpClock(fault);
			case "read-only":
				return this.#onDisk(fault, "read-only", async () =>
					(await this.#disk.beReadOnly()) ? () => this.#disk.beWritable() : null,
				);
			case "full":
				if (this.#disk.mountProblem !== "")
					return this.#report.skip("full", `nothing can be mounted here (${this.#disk.mountProblem})`);
				return this.#onDisk(fault, "full", async () => {
					this.#disk.beFull();
					return () => this.#disk.beEmptier();
				});
			default:
				throw new Error(`${fault.kind} is no fault of this process`);
		}
	}

	async #endThread({ variant }: Fault): Promise<void> {
		// One that still starts is no lane: pi-agy waits 20 s for it, which is another case.
		await until("lanes that are up", areLanesUp, 5_000).catch(() => {}); // Then it hits what there is.
		const threads = hubs().flatMap((hub) => hub.lanes.threads.map((thread) => ({ hub, thread })));
		const struck = threads[variant % Math.max(1, threads.length)];
		if (!struck) return;
		const { hub, thread } = struck;
		const { threadId } = thread;
		const { links } = hub.links;
		const sessionsOf = (some: typeof links) => new Set(some.flatMap(({ spec }) => spec.sessionId ?? []));
		const isOnIt = ({ laneThreadId }: (typeof links)[number]) => laneThreadId === threadId;
		const known = hub.lanes.lanes.find((lane) => lane.threadId === threadId);
		const suspects = known ? [known] : hub.lanes.lanes.filter((lane) => lane.threadId === null);
		const end = this.#log.begin({
			kind: "lane",
			lane: known?.kind ?? null,
			sessions: sessionsOf(links.filter(isOnIt)),
			spared: sessionsOf(links.filter((link) => link.state === "running" && !isOnIt(link))),
		});
		this.#report.fault("lane");
		await thread.terminate();
		const isLost = () => suspects.length === 0 || suspects.some((lane) => !hub.lanes.lanes.includes(lane));
		await until("the lane is gone", isLost, 5_000).catch(() => {}); // A thread without a lane.
		await nextTurn(); // Its links have been told by then.
		end();
	}

	async #jumpClock({ variant, forMs }: Fault): Promise<void> {
		const now = Date.now;
		Date.now = () => now() + variant * HOUR_MS;
		this.#report.fault("clock");
		await delay(forMs);
		Date.now = now;
	}

	/** One fault of the disk after the other, even when the machine is late. `begin` answers how it is ended, null when it was not to be had. */
	#onDisk({ forMs }: Fault, kind: DiskFault, begin: () => Promise<(() => void) | null>): Promise<void> {
		this.#disks = this.#disks.then(async () => {
			const end = this.#log.begin({ kind });
			try {
				const makeGood = await begin();
				if (makeGood === null) return;
				this.#report.fault(kind);
				await delay(forMs);
				makeGood();
				await nextTurn(); // What failed before it is told by then.
			} finally {
				end();
			}
		});
		return this.#disks;
	}
}

function areLanesUp(): boolean {
	return hubs().every(
		({ lanes }) => lanes.threads.length > 0 && lanes.lanes.every(({ threadId }) => threadId !== null),
	);
}
