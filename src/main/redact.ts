/** Takes credentials out of text before it is logged or shown. Works on whole text: cut first and a key may survive. */

const RULES: readonly (readonly [RegExp, string])[] = [
	[/\bya29\.[\w-]+/g, "[oauth token]"],
	[/\b1\/\/[\w-]{20,}/g, "[refresh token]"],
	[/\bAIza[\w-]{20,}/g, "[api key]"],
	[/\b(?:sk|pk|ghp|gho|ghs|github_pat|xox[abp])[-_][\w-]{12,}/g, "[secret]"],
	[/\b(authorization|x-goog-api-key|cookie|set-cookie)(\s*[:=]\s*).+/gi, "$1$2[secret]"],
	[/\b(bearer)\s+[\w.~+/-]+=*/gi, "$1 [secret]"],
	[/("[\w-]*(?:token|secret|password|api_?key|credential)[\w-]*"\s*:\s*")[^"]*"/gi, '$1[secret]"'],
	[/(https?:\/\/[^\s?#]+)\?[^\s]*/g, "$1?[query]"],
];

export function redact(text: string): string {
	return RULES.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}
