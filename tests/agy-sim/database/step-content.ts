/** The kind's own message of each kind of step, and the blobs of errors, permissions and tasks. */
import { opaqueBytes } from "./field-description.ts";
import { bytesField, joinFields, messageField, textField, varintField } from "./protobuf-writer.ts";
import { callFields, type DeclaredCall } from "./step-row.ts";

export type ErrorDetails = {
	readonly message: string;
	readonly short?: string | undefined;
	readonly full?: string | undefined;
	/** The provider's answer. */
	readonly json?: string | undefined;
};

export type Answer = {
	readonly text: string;
	readonly thinking: string;
	/** The second copy of the text; it may differ, and the first one may be missing. */
	readonly modified: string | undefined;
	readonly calls: readonly DeclaredCall[];
	/** Present once the answer is complete. */
	readonly messageId: string | undefined;
	readonly stopReason: number | undefined;
};

export const STOP = { normal: 2, functionCall: 10 } as const;

const SIGNATURE_BYTES = 1_500;
const CONFIG_BYTES = 118;
const REMINDER =
	"<EPHEMERAL_MESSAGE>\nThe following is an ephemeral message not actually sent by the user. It is provided by the " +
	"system as a set of reminders. Do not respond to nor acknowledge it, but do act accordingly.\n";
const REMINDER_LENGTH = 1_400;

export function userInput(prompt: string): Buffer {
	return joinFields(
		textField(2, prompt),
		messageField(3, textField(1, prompt)),
		messageField(4),
		messageField(12, bytesField(1, opaqueBytes(CONFIG_BYTES))),
		messageField(13, bytesField(1, opaqueBytes(CONFIG_BYTES))),
	);
}

export function plannerResponse(answer: Answer): Buffer {
	return joinFields(
		answer.text === "" ? undefined : textField(1, answer.text),
		answer.thinking === "" ? undefined : textField(3, answer.thinking),
		answer.messageId === undefined ? undefined : textField(6, answer.messageId),
		...answer.calls.map((call) => messageField(7, callFields(call))),
		answer.modified === undefined || answer.modified === "" ? undefined : textField(8, answer.modified),
		answer.thinking === "" ? undefined : messageField(11, varintField(1, 1), varintField(2, 250_000_000)),
		answer.stopReason === undefined ? undefined : varintField(12, answer.stopReason),
		answer.messageId === undefined
			? undefined
			: messageField(14, messageField(2, bytesField(1, opaqueBytes(SIGNATURE_BYTES)))),
	);
}

export function ephemeralMessage(): Buffer {
	return joinFields(textField(1, REMINDER.padEnd(REMINDER_LENGTH, "Remember. ")), textField(3, "EPHEMERAL_MESSAGE"));
}

export function systemMessage(text: string, kind: string): Buffer {
	return joinFields(textField(1, text), textField(3, kind));
}

export function checkpoint(intent: string, request: string): Buffer {
	return joinFields(
		textField(4, intent),
		varintField(9, true),
		varintField(12, 3),
		messageField(19, textField(1, request)),
	);
}

export function errorDetails(error: ErrorDetails): Buffer {
	return joinFields(
		textField(1, error.message),
		error.short === undefined ? undefined : textField(2, error.short),
		error.full === undefined ? undefined : textField(3, error.full),
		error.json === undefined ? undefined : textField(5, error.json),
	);
}

/** The message of an error row; its details also stand alone in other rows. */
export function errorMessage(details: Buffer): Buffer {
	return bytesField(3, details);
}

/** Undecided while the user is asked. */
export function permissionBlob(action: string, target: string, isGranted: boolean | undefined): Buffer {
	return messageField(
		2,
		messageField(1, textField(1, action), textField(2, target)),
		isGranted === undefined ? undefined : varintField(2, isGranted),
	);
}

export function taskDetails(taskId: string, logUri: string, description: string): Buffer {
	return joinFields(textField(1, taskId), textField(2, logUri), textField(4, description));
}

type ToolRun = {
	readonly name: string;
	readonly parameters: Readonly<Record<string, unknown>>;
	readonly output: string | undefined;
	readonly exitCode: number | undefined;
};

/** What a tool of its own type says; the arguments are in the call. */
export function toolResult(type: number, run: ToolRun): Buffer {
	const { output } = run;
	const text = (field: number) => (output === undefined ? undefined : textField(field, output));
	const parameter = (key: string) => String(run.parameters[key] ?? "");
	switch (type) {
		case 5:
			return joinFields(messageField(1, textField(1, parameter("TargetFile"))), text(26));
		case 7:
			return joinFields(textField(1, parameter("Query")), text(3));
		case 8:
			return joinFields(textField(1, `file://${parameter("AbsolutePath")}`), text(4));
		case 9:
			return joinFields(
				textField(1, `file://${parameter("DirectoryPath")}`),
				...(output ?? "").split("\n").flatMap((name) => (name === "" ? [] : [textField(2, name)])),
			);
		case 21:
			return joinFields(
				textField(2, parameter("Cwd")),
				run.exitCode === undefined || run.exitCode === 0 ? undefined : varintField(6, run.exitCode),
				output === undefined ? undefined : messageField(21, textField(1, output)),
				textField(23, parameter("CommandLine")),
				textField(25, parameter("CommandLine")),
			);
		case 25:
			return joinFields(text(11));
		case 31:
			return joinFields(
				textField(1, parameter("Url")),
				output === undefined ? undefined : messageField(2, messageField(6, messageField(3, textField(2, output)))),
			);
		case 33:
			return joinFields(textField(1, parameter("query")), text(5));
		case 38:
			return joinFields(textField(1, parameter("ServerName")), text(3));
		case 127:
			return joinFields(textField(1, parameter("Role")), textField(2, parameter("Prompt")), text(5));
		case 132:
			return output === undefined ? Buffer.alloc(0) : messageField(2, textField(1, output));
		default:
			return Buffer.alloc(0);
	}
}
