/** Everything that can be odd before the first turn: versions, sign-in, init, and the list of models. */
import type { ScenarioFamily } from "../scenario/catalog.ts";
import type { Turn } from "../scenario/scenario.ts";

const TURNS: readonly Turn[] = [{ steps: [{ kind: "text", text: "Ready.\n", deltaChars: 0 }] }];
const AUTH_FAILURE = "authentication failed or timed out";

export const START_UP: ScenarioFamily = {
	"never-init": {
		about: "starts, reads, and never prints anything",
		start: { init: "never" },
		turns: [{ userInput: false, steps: [{ kind: "hang" }] }],
	},
	"no-init": { about: "a working session that never sends init", start: { init: "never" }, turns: TURNS },
	"late-init": { about: "init comes with the first prompt (1.1.18)", start: { init: "first-line" }, turns: TURNS },
	"init-id-inside": {
		about: "init has the conversation id within its payload",
		behaviour: { initConversationId: "inside" },
		turns: TURNS,
	},
	"init-after-input": {
		about: "init comes after the user_input step",
		start: { init: "after-user-input" },
		turns: TURNS,
	},
	"slow-start": {
		about: "marker `starting`, then nothing until gate `start`",
		start: { marker: "starting", waitForGate: "start" },
		turns: TURNS,
	},
	"login-required": {
		about: "not signed in: a lone ERROR result, exit 1",
		start: { failure: AUTH_FAILURE },
		turns: TURNS,
	},
	"login-timeout": {
		about: "the same after a long wait (marker `starting`, gate `start`)",
		start: { marker: "starting", waitForGate: "start", failure: AUTH_FAILURE },
		turns: TURNS,
	},
	"login-text": {
		about: "the sign-in text of old versions on stdout, then exit 1",
		start: {
			stdout: [
				"Authentication required. Please visit the URL to log in: https://accounts.google.com/o/oauth2/auth?simulated",
				"Waiting for authentication (timeout 30s)...",
			],
			exitCode: 1,
		},
		turns: TURNS,
	},
	"init-signed-out": {
		about: "init although not signed in; the first turn fails",
		turns: [{ steps: [], result: { status: "ERROR", error: AUTH_FAILURE, usage: "zero", exitCode: 1 } }],
	},
	eligibility: {
		about: "the account check is down: a lone ERROR that also reads like an overload",
		start: { failure: "Eligibility check failed: service is currently UNAVAILABLE (code 503)" },
		turns: TURNS,
	},
	region: {
		about: "the user's location is not supported",
		start: { failure: "FAILED_PRECONDITION (code 400): User location is not supported for the API use." },
		turns: TURNS,
	},
	"exits-at-once": {
		about: "exit 1 with a reason on stderr",
		start: { stderr: ["panic: no home"], exitCode: 1 },
		turns: [],
	},
	"exits-silently": { about: "exit 1 without a word", start: { exitCode: 1 }, turns: [] },
	html: {
		about: "a web page instead of JSON (a captive portal), exit 0",
		start: { stdout: ["<!DOCTYPE html>", "<html><body>Sign in to the network</body></html>"], exitCode: 0 },
		turns: [],
	},
	"slow-to-die": {
		about: "waits for gate `start` and ignores SIGINT meanwhile (marker `starting`)",
		start: { marker: "starting", waitForGate: "start", ignoreSignals: ["SIGINT"] },
		turns: TURNS,
	},
	"other-model": {
		about: "init names another model than the one asked for",
		start: { initModel: "gemini-3.1-pro-low" },
		turns: TURNS,
	},
	"odd-version": {
		about: "--version prints more than a number",
		versionText: "agy 1.2.17-dev (simulated)",
		turns: TURNS,
	},
	"old-version": { about: "a version without this input format (1.1.14)", version: "1.1.14", turns: TURNS },
	"version-changes": {
		about: "an updater replaces the binary: 1.2.7 at the first start, 1.2.9 from the second on",
		versions: ["1.2.7", "1.2.9"],
		turns: TURNS,
	},
	"models-signed-out": {
		about: "`models` asks to sign in and lists nothing",
		models: { signedIn: false },
		turns: TURNS,
	},
	"models-flaky": {
		about: "the first `models` fails with exit 1, the next works",
		models: { failures: 1 },
		turns: TURNS,
	},
	"models-slow": {
		about: "`models` answers only after gate `models`",
		models: { waitForGate: "models" },
		turns: TURNS,
	},
	"models-open-stdin": { about: "`models` hangs while stdin is open (1.1.22)", version: "1.1.22", turns: TURNS },
	"models-stderr-banner": { about: "the banner of `models` on stderr (1.1.25)", version: "1.1.25", turns: TURNS },
	"models-noise": {
		about: "`models` with notices, an extra column and an odd id among the rows",
		models: {
			extraLines: ["", "A new version is available.", "not an id\tSome label", "custom/model-x\tCustom X\tpreview"],
			rows: [{ id: "vertex_ai/gemini-3.8-flash-low", label: "Gemini 3.8 Flash (Low)" }],
		},
		turns: TURNS,
	},
};
