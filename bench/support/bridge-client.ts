/** Calls a tool of an MCP server a few times, in a process of its own, and ends. Arguments: url, headers as JSON, tool, times. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url = "", headers = "{}", tool = "", times = "1"] = process.argv.slice(2);
const client = new Client({ name: "bench", version: "1.0.0" });
await client.connect(
	new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: JSON.parse(headers) } }),
);
for (let call = 0; call < Number(times); call++) {
	const { content } = await client.callTool({ name: tool, arguments: {} });
	if (!Array.isArray(content) || content.length !== 2) throw new Error("the result is not whole");
}
await client.close();
