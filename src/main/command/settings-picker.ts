/** The settings on the screen: values that can be listed are cycled through, others are typed. Each is saved at once. */

import type { ExtensionCommandContext, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, Input, type SettingItem, SettingsList, type SettingsListTheme } from "@earendil-works/pi-tui";
import { toError } from "../../shared/errors.ts";
import type { SettingRow, Settings } from "../settings/settings.ts";
import { isKey, type Key } from "../settings/table.ts";
import type { Answer } from "./subcommand.ts";

const MAX_VISIBLE = 14;

/** Resolves when it is closed. `change` saves a typed value; what it answers is shown where it is more than a note. */
export async function openPicker(
	settings: Settings,
	context: ExtensionCommandContext,
	change: (key: Key, typed: string) => Promise<Answer>,
): Promise<void> {
	const { ui } = context;
	await ui.custom<undefined>((tui, theme, _keys, done) => {
		const items = settings.rows().map((row) => toItem(row, theme));
		const list = new SettingsList(
			items,
			MAX_VISIBLE,
			toListTheme(theme),
			(id, typed) => {
				if (!isKey(id)) return;
				change(id, typed)
					.then(({ text, level }) => {
						if (level !== "info") ui.notify(text, level);
					})
					.catch((error: unknown) => ui.notify(toError(error).message, "error"))
					.finally(() => {
						const now = toItem(settings.row(id), theme);
						const item = items.find((candidate) => candidate.id === id);
						if (item) Object.assign(item, now); // Where it comes from may have changed with it.
						list.updateValue(id, now.currentValue);
						tui.requestRender();
					});
			},
			() => done(undefined),
			{ enableSearch: true },
		);
		return {
			capturesViewportInput: list.capturesViewportInput,
			render: (width: number) => [theme.fg("accent", theme.bold("Antigravity settings")), "", ...list.render(width)],
			invalidate: () => list.invalidate(),
			handleInput: (data: string) => {
				list.handleInput(data);
				tui.requestRender();
			},
		};
	});
}

function toItem(row: SettingRow, theme: Theme): SettingItem {
	const { key, text, source, about, allowed, choices, needsReload, pending } = row;
	const facts = [about, `From: ${source.name}.`, `Allowed: ${allowed}.`, ...(needsReload ? ["After /reload."] : [])];
	const item = { id: key, label: key, description: facts.join(" "), currentValue: pending ?? text };
	if (choices.length > 0) return { ...item, values: [...choices] };
	return { ...item, submenu: (_current, done) => typing(row, theme, done) };
}

/** One line to type a value into; Enter takes it, Esc does not. */
function typing({ key, allowed, value }: SettingRow, theme: Theme, done: (value?: string) => void): Component {
	const input = new Input();
	input.focused = true;
	input.setValue(typeof value === "string" || typeof value === "number" ? String(value) : "");
	input.onSubmit = (typed) => done(typed.trim() === "" ? undefined : typed);
	input.onEscape = () => done(undefined);
	return {
		render: (width) => [theme.fg("accent", key), ...input.render(width), theme.fg("dim", `Allowed: ${allowed}.`)],
		invalidate: () => input.invalidate(),
		handleInput: (data) => input.handleInput(data),
	};
}

function toListTheme(theme: Theme): SettingsListTheme {
	return {
		label: (text, isSelected) => (isSelected ? theme.fg("accent", text) : text),
		value: (text, isSelected) => theme.fg(isSelected ? "accent" : "muted", text),
		description: (text) => theme.fg("dim", text),
		cursor: theme.fg("accent", "→ "),
		hint: (text) => theme.fg("dim", text),
	};
}
