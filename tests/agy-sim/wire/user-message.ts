/**
 * One line of stdin, read the way agy reads it: a user message, something to skip, or a mistake with its own words and exit
 * code. Pure; what to do about it is the session's business.
 */
import type { Behaviour } from "../scenario/behaviour.ts";

export type StdinMessage =
	| { readonly kind: "prompt"; readonly prompt: string }
	| { readonly kind: "ignored"; readonly warning: string }
	/** The text stood beside `event`: nothing is sent to the model, and success is reported. */
	| { readonly kind: "empty-turn" }
	| { readonly kind: "mistake"; readonly error: string; readonly exitCode: number; readonly hasResult: boolean };

const PROTOCOL_EXIT_CODE = 1;
const UNAVAILABLE_EXIT_CODE = 2;
/** Slash commands the CLI answers by itself, without the model. */
const CLI_COMMANDS = [
	"model",
	"usage",
	"quota",
	"settings",
	"config",
	"mcp",
	"login",
	"logout",
	"help",
	"clear",
	"resume",
	"agents",
	"exit",
];

export function readStdinLine(line: string, behaviour: Behaviour, slashCommands: boolean): StdinMessage {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch {
		return mistake(`failed to decode stream input: invalid character ${firstBadCharacter(line)}`);
	}
	if (!isObject(value)) {
		return mistake(
			"failed to decode stream input: json: cannot unmarshal value into Go value of type streamInputMessage",
		);
	}
	const { event } = value;
	if (event === undefined) {
		const error = 'stream input message is missing the "event" field';
		return { ...mistake(error), hasResult: behaviour.missingEvent === "result" };
	}
	if (event === "control_request" || event === "control_response") {
		return { ...mistake(`stream input message event "${event}" is not supported`), exitCode: UNAVAILABLE_EXIT_CODE };
	}
	if (event !== "user") {
		return { kind: "ignored", warning: `warning: ignoring unsupported stream input message event "${event}"` };
	}
	const message = readUserMessage(value, behaviour);
	if (message.kind !== "prompt" || !slashCommands) return message;
	const command = /^\/(\w+)/.exec(message.prompt)?.[1];
	if (command === undefined || !CLI_COMMANDS.includes(command)) return message;
	const error = `/${command} is answered by the CLI itself and is unavailable with --input-format stream-json`;
	return { ...mistake(error), exitCode: UNAVAILABLE_EXIT_CODE };
}

function readUserMessage(value: Readonly<Record<string, unknown>>, behaviour: Behaviour): StdinMessage {
	const { message } = value;
	const isMisplaced = typeof value.content === "string" || typeof value.text === "string";
	if (isMisplaced && message === undefined && behaviour.misplacedContent === "empty-success")
		return { kind: "empty-turn" };
	if (message === undefined) return mistake('stream input "user" message is missing the "message" field');
	if (!isObject(message)) {
		const type = Array.isArray(message) ? "array" : typeof message;
		return mistake(
			`failed to decode stream input: json: cannot unmarshal ${type} into Go struct field streamInputMessage.message`,
		);
	}
	const { content } = message;
	if (typeof content === "string" && content !== "") return { kind: "prompt", prompt: content };
	if (!Array.isArray(content) || content.length === 0) return mistake('stream input "user" message has no content');
	const foreign = content.find((block) => block?.type !== "text");
	if (foreign !== undefined) {
		return mistake(`stream input content block type "${foreign?.type}" is not supported (only "text")`);
	}
	return { kind: "prompt", prompt: content.map((block) => String(block.text ?? "")).join("") };
}

type Mistake = Extract<StdinMessage, { readonly kind: "mistake" }>;

function mistake(error: string): Mistake {
	return { kind: "mistake", error, exitCode: PROTOCOL_EXIT_CODE, hasResult: true };
}

function firstBadCharacter(line: string): string {
	const character = Array.from(line.trim())[0] ?? "";
	return `'${character}' looking for beginning of value`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
