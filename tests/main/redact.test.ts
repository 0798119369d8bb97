import { expect, test } from "vitest";
import { redact } from "../../src/main/redact.ts";

test.each([
	["an OAuth token", "token ya29.a0AfH6SMB_x-y used", "token [oauth token] used"],
	["a refresh token", "rt 1//0gabcdefghijklmnopqrstuv ok", "rt [refresh token] ok"],
	["an API key", "key AIzaSyA1234567890abcdefghijklmnop.", "key [api key]."],
	[
		"keys of other services",
		"sk-abcdefghijklmnop ghp_abcdefghijklmnop xoxb-abcdefghijkl",
		"[secret] [secret] [secret]",
	],
	["a header to its line's end", "Authorization: Bearer abc def\nnext", "Authorization: [secret]\nnext"],
	["an API key header", "x-goog-api-key = abc", "x-goog-api-key = [secret]"],
	["cookies", "Set-Cookie: a=b; c=d", "Set-Cookie: [secret]"],
	["a bearer token anywhere", "sent bearer abc.def-123== to", "sent bearer [secret] to"],
	["a JSON field named like a secret", '{"access_token":"abc","n":1}', '{"access_token":"[secret]","n":1}'],
	["a password", '{ "dbPassword" : "p w" }', '{ "dbPassword" : "[secret]" }'],
	[
		"the query of an address",
		"see https://accounts.google.com/o?code=abc&state=1 now",
		"see https://accounts.google.com/o?[query] now",
	],
])("takes out %s", (_name, text, expected) => {
	expect(redact(text)).toBe(expected);
});

test.each([
	"RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h18m58s.",
	"/srv/demo/src/token.ts: 12 tokens",
	"https://example.com/docs/page#part",
	'{"input_tokens":12,"total_tokens":"13x"}'.replace('"13x"', "13"),
	"a sk-ill and a task-force",
	"",
])("leaves alone: %s", (text) => {
	expect(redact(text)).toBe(text);
});

test("takes out every one of many", () => {
	expect(redact("Bearer a1 Bearer b2\nBearer c3")).not.toMatch(/a1|b2|c3/);
});

test("takes out every secret of a JSON object", () => {
	expect(redact('{"token":"a1","password":"b2"}')).toBe('{"token":"[secret]","password":"[secret]"}');
});

test("a text that was redacted stays as it is", () => {
	const once = redact('Authorization: Bearer x\n{"token":"y"} https://h/p?q=1 ya29.z');
	expect(redact(once)).toBe(once);
});
