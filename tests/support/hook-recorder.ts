/**
 * A pi extension for tests: writes what pi's provider hooks see to the file $TEST_HOOK_FILE, and puts "replaced" in place
 * of a prompt that says "replace me". Loaded by pi with -e.
 */
import { appendFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

type Payload = { readonly event: string; readonly message: { readonly role: string; readonly content: string } };

// biome-ignore lint/style/noDefaultExport: pi wants the factory there
export default function hookRecorder(pi: ExtensionAPI): void {
	const note = (entry: object) => appendFileSync(process.env.TEST_HOOK_FILE ?? "", `${JSON.stringify(entry)}\n`);

	pi.on("before_provider_request", (event) => {
		const payload = event.payload as Payload;
		note({ hook: "request", payload });
		if (payload.message.content !== "replace me") return undefined;
		return { ...payload, message: { ...payload.message, content: "replaced" } };
	});
	pi.on("after_provider_response", (event) => note({ hook: "response", status: event.status }));
	pi.on("provider_stream_event", (event) => note({ hook: "event", provider: event.provider, data: event.data }));
}
