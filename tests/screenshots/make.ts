/**
 * Makes the pictures in docs/screenshots from a real pi in a real terminal, on the simulator. Run by
 * `npm run screenshots`, and looked at by a person before they are committed.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ffmpegPath } from "../support/ffmpeg.ts";
import { GeminiServer, spoken } from "../support/gemini-server.ts";
import { REPOSITORY, Sandbox, type SandboxOptions } from "../support/sandbox.ts";
import { KEY, PiTerminal } from "../support/terminal.ts";
import { toSvg } from "../support/terminal-svg.ts";

const FOLDER = join(REPOSITORY, "docs", "screenshots");
const SPEAKING = ["-re", "-f", "lavfi", "-i", "aevalsrc=0.5*sin(2*PI*220*t)*abs(sin(2*PI*1.3*t)):s=16000"];
const SIZE = { columns: 100, rows: 26 } as const;

type Shot = {
	readonly name: string;
	readonly title: string;
	readonly settings?: (url: string) => object;
	readonly options?: SandboxOptions;
	/** Default: 26. */
	readonly rows?: number;
	readonly act: (pi: PiTerminal, server: GeminiServer) => Promise<unknown>;
};

const VOICE: Pick<Shot, "settings" | "options"> = {
	settings: (voiceGeminiUrl) => ({
		...{ voiceGeminiUrl, voiceFfmpeg: ffmpegPath(), voiceInput: SPEAKING, voiceSounds: false },
	}),
	options: { env: { GEMINI_API_KEY: "key-of-nobody" } },
};

const SHOTS: readonly Shot[] = [
	{
		name: "cards",
		title: "An answer of agy with the cards of its steps",
		options: { scenario: "demo" },
		rows: 36,
		act: async (pi) => {
			await pi.enter("What does this project do?");
			await pi.shows("no model was asked");
			await pi.settled();
		},
	},
	{
		name: "picker",
		title: "/agy: the settings, each with what it may be",
		rows: 30,
		act: async (pi) => {
			await pi.enter("/agy");
			await pi.shows("stream-json");
			await pi.settled();
		},
	},
	{
		name: "doctor",
		title: "/agy doctor after a turn: the verdict, and the state of everything",
		options: { scenario: "demo" },
		rows: 82,
		act: async (pi) => {
			await pi.enter("What does this project do?");
			await pi.shows("no model was asked");
			await pi.settled();
			await pi.enter("/agy doctor");
			await pi.shows("healthy");
			await pi.settled();
		},
	},
	{
		name: "voice",
		title: "A recording: level and time in the footer",
		...VOICE,
		act: async (pi, server) => {
			server.answers = [spoken("add a test for the tick of the outbox")];
			pi.type("Please ");
			pi.type(KEY.f12);
			await pi.shows(/● 0:03/);
		},
	},
	{
		name: "voice-words",
		title: "The words in the editor, behind what was typed",
		...VOICE,
		act: async (pi, server) => {
			server.answers = [spoken("add a test for the tick of the outbox")];
			pi.type("Please ");
			pi.type(KEY.f12);
			await pi.shows(/● 0:01/);
			pi.type(KEY.f12);
			await pi.shows("Please add a test for the tick of the outbox");
		},
	},
];

mkdirSync(FOLDER, { recursive: true });
const wanted = process.argv.slice(2);
for (const shot of SHOTS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) await take(shot);

async function take({ name, title, settings, options, rows = SIZE.rows, act }: Shot): Promise<void> {
	const server = await GeminiServer.start();
	const sandbox = new Sandbox(options);
	sandbox.seedModels();
	const config = { version: 1, ...settings?.(server.url) };
	sandbox.write("agent/pi-agy/config.json", JSON.stringify(config));
	const pi = new PiTerminal(sandbox, { ...SIZE, rows });
	try {
		await pi.started();
		await act(pi, server);
		const picture = [REPOSITORY, sandbox.path].reduce(
			(svg, path) => svg.replaceAll(path, "~"),
			toSvg(pi.emulator, title),
		);
		writeFileSync(join(FOLDER, `${name}.svg`), picture);
		process.stdout.write(`${name}.svg\n`);
		if (pi.screen().includes("Esc cancels")) pi.type(KEY.escape);
		await pi.hides("Esc cancels");
		await pi.quit();
	} finally {
		pi.destroy();
		await server.close();
		await sandbox.close();
	}
}
