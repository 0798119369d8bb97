/**
 * Takes credentials out of text before it is logged or shown. Works on whole text: cut first and a key may survive. Each
 * pattern's reach is bounded, so that no text makes it slow.
 */

/** Ends of names that hold a secret, in any spelling. */
const SECRET_NAME = "[\\w-]{0,40}(?:token|secret|password|passwd|passphrase|api[_-]?key|private[_-]?key|credential)s?";

const RULES: readonly (readonly [RegExp, string])[] = [
	[/-----BEGIN ([A-Z ]{0,30})PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g, "[private key]"],
	[/\bya29\.[\w-]+/g, "[oauth token]"],
	[/\b1\/\/[\w-]{20,}/g, "[refresh token]"],
	[/\bGOCSPX-[\w-]{20,}/g, "[client secret]"],
	[/\bAIza[\w-]{20,}/g, "[api key]"],
	[/\b(?:sk|pk|ghp|gho|ghs|ghu|ghr|github_pat|glpat|xox[abeprs])[-_][\w-]{12,}/g, "[secret]"],
	[/\b(?:hf|npm|gsk|r8|xai|pplx|dop_v1|shpat)[-_][A-Za-z0-9]{20,}/g, "[secret]"],
	[/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, "[secret]"],
	[/\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g, "[signed token]"],
	[
		/\b((?:proxy-)?authorization|x-goog-api-key|x-api-key|x-bridge-token|cookie|set-cookie)(\s*[:=]\s*).+/gi,
		"$1$2[secret]",
	],
	[/\b(bearer)\s+[\w.~+/-]+=*/gi, "$1 [secret]"],
	// A field of JSON, also of JSON within a string of JSON.
	[
		new RegExp(
			`(\\\\?"(?:${SECRET_NAME}|authorization|(?:set-)?cookie)[\\w-]{0,40}\\\\?"\\s*:\\s*)(?:"(?:[^"\\\\]|\\\\.)*"|\\\\"[^"\\\\]*\\\\")`,
			"gi",
		),
		'$1"[secret]"',
	],
	[new RegExp(`(--${SECRET_NAME})([ =])(?!--)\\S+`, "gi"), "$1$2[secret]"],
	[new RegExp(`\\b(${SECRET_NAME})=(?!\\d+\\b)[^\\s"'\`,;&]{6,}`, "gi"), "$1=[secret]"],
	[/\b([a-z][a-z+]{1,9}:\/\/)[^\s/@:]{1,100}:[^\s/@]{1,300}@/gi, "$1[secret]@"],
	[/((?:https?|wss?):\/\/[^\s?#]{1,500})\?[^\s]*/g, "$1?[query]"],
	[/((?:https?|wss?):\/\/[^\s?#]{1,500})#[^\s=]{0,100}=[^\s]*/g, "$1#[fragment]"],
];

export function redact(text: string): string {
	return RULES.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}
