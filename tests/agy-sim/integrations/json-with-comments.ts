/** JSON that may hold comments and trailing commas, as agy takes it in mcp_config.json. Throws on anything else. */
export function parseJsonWithComments(text: string): unknown {
	const strings = String.raw`"(?:[^"\\]|\\.)*"`;
	const withoutComments = text.replace(new RegExp(`(${strings})|//[^\\n]*|/\\*[\\s\\S]*?\\*/`, "g"), "$1");
	return JSON.parse(withoutComments.replace(new RegExp(`(${strings})|,(?=\\s*[}\\]])`, "g"), "$1"));
}
