import { expect, test } from "vitest";
import { redact } from "../../src/shared/redact.ts";
import { cpuMsOf } from "../support/cpu-time.ts";

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
	["an escaped quote in a password", String.raw`{"password":"a\"b","n":1}`, '{"password":"[secret]","n":1}'],
	[
		"a field of JSON in a string",
		String.raw`{"out":"{\"accessToken\":\"abc\"}"}`,
		String.raw`{"out":"{\"accessToken\":"[secret]"}"}`,
	],
	["an authorization field", '{"Authorization":"Basic dXNlcjpwdw==","n":1}', '{"Authorization":"[secret]","n":1}'],
	[
		"a private key",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nnext",
		"[private key]\nnext",
	],
	["half a private key", "a -----BEGIN PRIVATE KEY-----\nMIIE", "a [private key]"],
	["a client secret", "GOCSPX-abcdefghijklmnopqrstuv", "[client secret]"],
	["Anthropic's and OpenAI's keys", "sk-ant-api03-abcdefghijkl sk-proj-abcdefghijkl", "[secret] [secret]"],
	["GitHub's and GitLab's tokens", "github_pat_11ABCDEFG0abcdefghij glpat-abcdefghijkl1", "[secret] [secret]"],
	["Hugging Face's token", "hf_abcdefghijklmnopqrstuvwx", "[secret]"],
	["an AWS key id", "AKIAIOSFODNN7EXAMPLE", "[secret]"],
	["a signed token", "id eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sIgnature-x end", "id [signed token] end"],
	["the bridge's token", "X-Bridge-Token: abc", "X-Bridge-Token: [secret]"],
	["a variable", "GEMINI_API_KEY=abcdef123 agy", "GEMINI_API_KEY=[secret] agy"],
	["a flag", "agy --api-key abc --auth-token=def --model x", "agy --api-key [secret] --auth-token=[secret] --model x"],
	["the password in an address", "proxy http://me:pw@host:8080/x", "proxy http://[secret]@host:8080/x"],
	["a token behind the #", "https://h/cb#access_token=abc&x=1 end", "https://h/cb#[fragment] end"],
	["the query of a socket's address", "wss://h/p?key=1", "wss://h/p?[query]"],
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
	"max_tokens=4096 and npm_config_registry_url",
	"agy --print-timeout 24h --model gemini-3.8-flash-low",
	"the basic idea, a bearer",
	"git@github.com:me/repo.git",
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

test("no text makes it slow", () => {
	const texts = ["a", "a-", '"a', "token", "https://a:", "eyJ", "-----BEGIN PRIVATE KEY-----", "--a "];
	for (const text of texts) expect(cpuMsOf(() => redact(text.repeat((64 * 1024) / text.length)))).toBeLessThan(2_000);
});
