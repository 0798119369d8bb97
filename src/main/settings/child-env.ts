/** What other programs get to see of the environment. Pure. */

import type { Env } from "./load.ts";

/**
 * What agy needs of the environment: where home is, how the terminal and the locale are, proxies and certificates, a
 * session bus for the keyring. Everything else, secrets of other programs above all, stays out.
 */
const CHILD_ENV_NAMES =
	/^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|TMPDIR|TEMP|TMP|DISPLAY|WAYLAND_DISPLAY|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|SSH_AUTH_SOCK|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|AGY_\w+|ANTIGRAVITY_\w+|GEMINI_API_KEY|GOOGLE_GEMINI_BASE_URL|SystemRoot|APPDATA|LOCALAPPDATA|USERPROFILE|PATHEXT|ComSpec|WINDIR)$/i;

/** Where the sound system is. */
const SOUND_ENV_NAMES = /^(PULSE_\w+|PIPEWIRE_\w+|ALSA_\w+|AUDIODEV|AUDIODRIVER)$/;
/** agy's own, which other programs have no use for. */
const AGY_ENV_NAMES = /^(AGY_\w+|ANTIGRAVITY_\w+|GEMINI_API_KEY|GOOGLE_GEMINI_BASE_URL|SSH_AUTH_SOCK)$/i;

/** Of an agy process. `more` are names the user has added. */
export function childEnvOf(env: Env, more: ReadonlySet<string>): Readonly<Record<string, string>> {
	return pick(env, (name) => CHILD_ENV_NAMES.test(name) || more.has(name));
}

/** Of a program that records, transcribes or speaks: no key, nothing of agy's. */
export function voiceEnvOf(env: Env, more: ReadonlySet<string>): Readonly<Record<string, string>> {
	return pick(
		env,
		(name) => (CHILD_ENV_NAMES.test(name) && !AGY_ENV_NAMES.test(name)) || SOUND_ENV_NAMES.test(name) || more.has(name),
	);
}

function pick(env: Env, isWanted: (name: string) => boolean): Readonly<Record<string, string>> {
	const child: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) if (value !== undefined && isWanted(name)) child[name] = value;
	return Object.freeze(child);
}
