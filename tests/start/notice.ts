/**
 * A pi extension for `npm start` alone: shows one line above the editor. The start script sets it when pi runs on the
 * simulator, because pi's screen hides what was printed before it. Outside the TUI the line is on stderr already.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function showNotice(pi: ExtensionAPI): void {
	const notice = process.env.PI_AGY_NOTICE;
	if (!notice) return;
	pi.on("session_start", (_event, ctx) => {
		if (ctx.mode === "tui") ctx.ui.setWidget("pi-agy-notice", [ctx.ui.theme.fg("warning", notice)]);
	});
}
