import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isContextOverflow, isRetryableAssistantError, type TranscriptContext } from "@earendil-works/pi-ai";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { Catalog } from "../../src/main/models.ts";
import { AgyError } from "../../src/shared/errors.ts";
import { failedTool, modelCall, text, tool } from "../support/agy-events.ts";
import { until } from "../support/condition.ts";
import { Folder } from "../support/folder.ts";
import { MODEL } from "../support/pi-message.ts";
import { compaction, foreign, image, system, user } from "../support/pi-transcript.ts";
import { type AgyLink, ProviderStage } from "../support/provider-stage.ts";
import { type Act, anyAct, SessionPlay } from "../support/session-play.ts";
import { EXIT } from "../support/turn-play.ts";

const stage = new ProviderStage(new Folder());

afterEach(() => expect(stage.problems).toStrictEqual([]));

const conversations = () => stage.links.map((link) => link.spec.conversationId);
const agents = () => stage.links.map((link) => link.spec.profile.agent);
/** A turn of one card, in whose place agy waits for the test. */
const withCard = (link: AgyLink, prompt: string) => {
	link.read(prompt);
	link.print(tool(5, "done", { output: "4 passed" }));
	link.print(text("done", 7), link.result({ text: "done" }));
};

describe("what reaches agy", () => {
	test.each<[string, string | readonly string[], string]>([
		["a message", "Hi.", "Hi."],
		["messages sent one after the other", ["One.", "Two.", "Three."], "One.\n\nTwo.\n\nThree."],
		["a command, which is text", "/model opus", "/model opus"],
	])("%s", async (_name, said, prompt) => {
		expect(await stage.say(said)).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "ok" }] });
		expect(stage.link.heard).toStrictEqual([prompt]);
	});

	test("each message once, in one conversation and one process", async () => {
		await stage.say("One.");
		await stage.say(["Two.", "Three."]);
		await stage.say("Four.");
		expect(stage.links).toHaveLength(1);
		expect(stage.link.heard).toStrictEqual(["One.", "Two.\n\nThree.", "Four."]);
	});

	test("an image, as a file in the directory agy was given", async () => {
		await stage.say([{ type: "text", text: "Look:" }, image("image/png", Buffer.from("PNG").toString("base64"))]);
		const path = /@(\S+\.png)/.exec(stage.prompt)?.[1] ?? "";
		expect(readFileSync(path, "utf8")).toBe("PNG");
		expect(stage.link.spec.profile.addDirs).toStrictEqual([await stage.spill.directory()]);
		expect(path.startsWith(`${stage.link.spec.profile.addDirs[0]}/`)).toBe(true);
	});

	test("a long text, as a file", async () => {
		const long = "é".repeat(15_000);
		await stage.say(long);
		expect(stage.prompt.length).toBeLessThan(1_000);
		expect(stage.toldTo("c1")).toContain(long);
	});

	test("what the user said while pi ran a call, once", async () => {
		stage.behave = (link, prompt) => (prompt === "Go." ? withCard(link, prompt) : link.answer(prompt, "With tabs."));
		const message = await stage.say("Go.", {}, () => "Use tabs.");
		expect(stage.link.heard).toStrictEqual(["Go.", "Use tabs."]);
		expect(message.content).toMatchObject([{ text: "done" }, { text: "With tabs." }]);
		await stage.say("Next.");
		expect(stage.link.heard.slice(2)).toStrictEqual(["Next."]);
	});

	test("what was said while a turn ran that failed, with the next prompt, before it", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(tool(5, "done"));
			setImmediate(() => link.end(EXIT));
		};
		expect(await stage.say("Go.", {}, () => "Use tabs.")).toMatchObject({ stopReason: "error" });
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Go on.");
		expect(stage.link.heard).toStrictEqual(["Use tabs.\n\nGo on."]);
		await stage.say("And on.");
		expect(stage.link.heard.slice(1)).toStrictEqual(["And on."]);
	});

	test("also when pi was ended in between", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(tool(5, "done"));
			setImmediate(() => link.end(EXIT));
		};
		await stage.say("Go.", {}, () => "Use tabs.");
		await stage.restart();
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Go on.");
		expect(stage.prompt).toBe("Use tabs.\n\nGo on.");
	});

	test("but not a second time when pi is killed while the turn runs that brings it", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(tool(5, "done"));
			setImmediate(() => link.end(EXIT));
		};
		await stage.say("Go.", {}, () => "Use tabs.");
		stage.behave = (link, prompt) => link.read(prompt);
		stage.messages.push(user("Go on."));
		const { provider: killed, bindings } = stage;
		const cutOff = stage.ask();
		await until("agy has it", () => stage.toldTo("c1").includes("Use tabs.\n\nGo on."));
		await bindings.settled();
		stage.open();
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Next.");
		expect(stage.prompt).toBe("Next.");
		await killed.close();
		await cutOff;
		await bindings.settled();
	});

	test("what was said before a turn that was stopped before it was sent", async () => {
		const abort = new AbortController();
		stage.onAcquire = () => abort.abort();
		expect(await stage.say("One.", { signal: abort.signal })).toMatchObject({ stopReason: "aborted" });
		expect(stage.links).toHaveLength(0);
		stage.onAcquire = () => {};
		await stage.say("Two.");
		expect(stage.link.heard).toStrictEqual(["One.\n\nTwo."]);
	});

	test("and when it was stopped while the prompt was made; the process is kept", async () => {
		const abort = new AbortController();
		const message = await stage.say("One.", {
			signal: abort.signal,
			onPayload: (payload) => {
				abort.abort();
				return payload;
			},
		});
		expect(message).toMatchObject({ stopReason: "aborted" });
		await until("it is given back", () => stage.link.state === "idle");
		await stage.say("Two.");
		expect(stage.links).toHaveLength(1);
		expect(stage.link.heard).toStrictEqual(["One.\n\nTwo."]);
	});

	test("a word when there is none: pi asks again without the user", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(link.result({ status: "ERROR", error: "something new" }));
		};
		await stage.say("One.");
		stage.messages.pop();
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.ask();
		expect(stage.prompt).toBe("Go on with what was asked before; the last attempt did not finish.");
	});

	test("what a hook put in its place", async () => {
		await stage.say("One.", { onPayload: (payload) => ({ ...(payload as object), message: { content: "Uno." } }) });
		expect(stage.link.heard).toStrictEqual(["Uno."]);
	});
});

describe("a conversation", () => {
	test("goes on after a restart of pi", async () => {
		await stage.say("One.");
		await stage.restart();
		await stage.say("Two.");
		expect(conversations()).toStrictEqual([null, "c1"]);
		expect(stage.prompt).toBe("Two.");
		expect(stage.notices).toStrictEqual([]);
	});

	test("goes on in another process when the profile changes", async () => {
		await stage.say("One.");
		await stage.restart({ mode: "plan" });
		await stage.say("Two.");
		expect(conversations()).toStrictEqual([null, "c1"]);
		expect(stage.links.map((link) => link.spec.profile.mode)).toStrictEqual(["default", "plan"]);
	});

	test("is bound to its workspace", async () => {
		await stage.say("One.");
		stage.cwd = "/srv/other";
		await stage.say("Two.");
		expect(conversations()).toStrictEqual([null, null]);
		expect(stage.toldTo("c2")).toContain("One.");
		expect(stage.link.spec.profile.cwd).toBe("/srv/other");
	});

	test.each<[string, () => void, string]>([
		[
			"a branch to the beginning",
			() => {
				stage.messages = [];
			},
			"",
		],
		[
			"an edit",
			() => {
				stage.messages[0] = user("Uno.");
			},
			"the session's history was changed by a branch, a fork or an edit",
		],
		[
			"a compaction",
			() => {
				stage.messages = [compaction("They counted."), ...stage.messages.slice(-1)];
			},
			"pi compacted the conversation",
		],
	])("is built anew after %s, with all there is, and the user is told why", async (_name, change, reason) => {
		await stage.say("One.");
		await stage.say("Two.");
		change();
		const history = stage.messages.flatMap((message) =>
			message.role === "user" ? JSON.stringify(message.content) : [],
		);
		await stage.say("Three.");
		expect(conversations()).toStrictEqual([null, null]);
		expect(stage.prompt.endsWith("Three.")).toBe(true);
		for (const content of history)
			expect(stage.toldTo("c2")).toContain(JSON.parse(content)[0]?.text ?? JSON.parse(content));
		expect(stage.notices).toStrictEqual(
			reason === "" ? [] : [`agy starts a fresh conversation with this session's history, because ${reason}.`],
		);
		await stage.say("Four.");
		expect(stage.link.heard).toHaveLength(2);
		expect(stage.prompt).toBe("Four.");
	});

	test("is topped up with what another provider did, whole in a file", async () => {
		await stage.say("One.");
		stage.messages.push(user("Ask them."), foreign("They know."));
		await stage.say("Two.");
		expect(conversations()).toStrictEqual([null]);
		expect(stage.prompt).toMatch(/^What happened since your last answer is in the file \S+\.md\..*\n\nTwo\.$/s);
		expect(stage.toldTo("c1")).toContain("Ask them.\n\n## Assistant (openai)\n\nThey know.");
		await stage.say("Three.");
		expect(stage.prompt).toBe("Three.");
	});

	test("is topped up beside the prompt where the digest is wanted", async () => {
		await stage.restart({ digest: true });
		await stage.say("One.");
		stage.messages.push(foreign("They know."));
		await stage.say("Two.");
		expect(stage.prompt).toBe(
			"For your information, what happened since your last answer:\n\n## Assistant (openai)\n\nThey know.\n\nTwo.",
		);
	});

	test("of a session that has a history is told all of it", async () => {
		stage.messages = [user("Before."), foreign("Yes.")];
		await stage.say("Now.");
		expect(stage.toldTo("c1")).toContain("Before.\n\n## Assistant (openai)\n\nYes.");
		expect(stage.notices).toStrictEqual([
			"agy starts a fresh conversation with this session's history, because the session has a history that agy does not know.",
		]);
	});

	test("that another pi is on is left to it: a fresh one gets the history", async () => {
		await stage.say("One.");
		await stage.restart();
		stage.busy.add("c1");
		expect(await stage.say("Two.")).toMatchObject({ stopReason: "stop" });
		expect(stage.toldTo("c2")).toMatch(/One\.[\s\S]*Two\./);
		expect(stage.notices).toStrictEqual([
			"Another pi process is working on this conversation. This session goes on with a fresh one that gets its history.",
		]);
	});

	test("that agy has lost gets no prompt: a fresh one gets the history", async () => {
		await stage.say("One.");
		await stage.restart();
		stage.lost.add("c1");
		expect(await stage.say("Two.")).toMatchObject({ stopReason: "stop" });
		expect(conversations()).toStrictEqual([null, "c1", null]);
		expect(stage.links[1]).toMatchObject({ heard: [], state: "closed" });
		expect(stage.toldTo("c3")).toMatch(/One\.[\s\S]*Two\./);
		expect(stage.notices).toStrictEqual([
			"agy does not know the conversation c1 any more; a fresh one gets the session's history.",
		]);
	});

	test("that an older agy has lost gets the history with the next prompt", async () => {
		await stage.say("One.");
		await stage.restart();
		stage.lost.add("c1");
		stage.binary = { ...stage.binary, namesItselfFirst: false };
		stage.behave = (link, prompt) => {
			if (link.turns === 1) link.introduce();
			link.answer(prompt);
		};
		await stage.say("Two.");
		expect(stage.notices).toStrictEqual([
			"agy does not know the conversation any more and started c2; it gets the session's history with the next prompt.",
		]);
		await stage.say("Three.");
		expect(conversations()).toStrictEqual([null, "c1", null]);
		expect(stage.toldTo("c3")).toMatch(/One\.[\s\S]*Two\.[\s\S]*Three\./);
	});

	test("that pi compacts in the middle of a turn is not said to be larger than what pi has left", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(modelCall({ input: 90_000, output: 1, thinking: 0, cacheRead: 0 }), tool(5, "done"));
			link.print(modelCall({ input: 95_000, output: 1, thinking: 0, cacheRead: 0 }, 7), link.result());
		};
		stage.messages.push(user("Go."));
		const first = await stage.ask();
		expect(first.usage.totalTokens).toBe(90_000);
		await stage.runCalls(first);
		stage.messages = [compaction("They went."), ...stage.messages.slice(1)];
		const second = await stage.ask();
		expect(second.usage.totalTokens).toBeLessThan(1_000);
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Go on.");
		expect(conversations()).toStrictEqual([null, null]);
	});
});

describe("pi's system prompt", () => {
	/** The user speaks under this system prompt. */
	const say = (prompt: string, words: string) => {
		stage.messages = [system(prompt), ...stage.messages.filter((message) => message.role !== "system")];
		return stage.say(words);
	};

	test("is an agent that agy is started with, and stands in no prompt", async () => {
		await say("Be kind.", "One.");
		await stage.say("Two.");
		expect(agents()).toStrictEqual(["pi-agy-0"]);
		expect(stage.staged).toStrictEqual(["Be kind.", "Be kind."]);
		expect(stage.link.heard).toStrictEqual(["One.", "Two."]);
	});

	test("that has changed is another agent, for the same conversation", async () => {
		await say("Be kind.", "One.");
		await say("Be strict.", "Two.");
		expect(agents()).toStrictEqual(["pi-agy-0", "pi-agy-1"]);
		expect(conversations()).toStrictEqual([null, "c1"]);
		expect(stage.prompt).toBe("Two.");
	});

	test("that stands beside the messages, as older pi versions put it, is taken too", async () => {
		const context = { systemPrompt: "Be kind.", messages: [user("One.")] } as unknown as TranscriptContext;
		const stream = stage.provider.streamSimple(MODEL, context, { sessionId: stage.sessionId });
		expect(await stream.result()).toMatchObject({ stopReason: "stop" });
		expect(agents()).toStrictEqual(["pi-agy-0"]);
		expect(stage.staged).toStrictEqual(["Be kind."]);
		expect(stage.link.heard).toStrictEqual(["One."]);
	});

	test("can be switched off", async () => {
		await stage.restart({ systemPrompt: false });
		await say("Be kind.", "One.");
		expect(agents()).toStrictEqual([null]);
		expect(stage.staged).toStrictEqual([]);
		expect(stage.link.heard).toStrictEqual(["One."]);
	});

	test("goes with the prompt once per conversation where the user chose an agent, and again when it changed", async () => {
		await stage.restart({ agent: "reviewer" });
		await say("Be kind.", "One.");
		await stage.say("Two.");
		await say("Be strict.", "Three.");
		await stage.say("Four.");
		const heading = "Instructions from pi, the program you work in:";
		expect(agents()).toStrictEqual(["reviewer"]);
		expect(stage.staged).toStrictEqual([]);
		expect(stage.link.heard).toStrictEqual([
			`${heading}\n\nBe kind.\n\nOne.`,
			"Two.",
			`${heading}\n\nBe strict.\n\nThree.`,
			"Four.",
		]);
		stage.messages = [];
		await say("Be strict.", "Five.");
		expect(stage.prompt).toBe(`${heading}\n\nBe strict.\n\nFive.`);
	});

	test("goes with the prompt when it cannot be staged, and the log says so", async () => {
		stage.stageAgent = () => Promise.reject(new Error("EACCES"));
		await say("Be kind.", "One.");
		expect(agents()).toStrictEqual([null]);
		expect(stage.prompt).toContain("Be kind.\n\nOne.");
		expect(stage.logged.join()).toContain("EACCES");
	});

	test("that is long is a file like anything else", async () => {
		await stage.restart({ agent: "reviewer" });
		await say("k".repeat(30_000), "One.");
		expect(stage.prompt).toMatch(/^The text of your instructions is in the file \S+\.md, because[\s\S]*\n\nOne\.$/);
	});
});

describe("a prompt that agy has not read", () => {
	const dies = (link: AgyLink) => link.end(EXIT);

	test("is sent once more to another process, and the user sees one answer", async () => {
		await stage.say("One.");
		stage.behave = (link, prompt) => {
			if (link === stage.links[0]) dies(link);
			else link.answer(prompt, "Here.");
		};
		expect(await stage.say("Two.")).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "Here." }] });
		expect(conversations()).toStrictEqual([null, "c1"]);
		expect(stage.link.heard).toStrictEqual(["Two."]);
		expect(stage.logged.join()).toContain("sent once more");
		await stage.say("Three.");
		expect(stage.link.heard).toStrictEqual(["Two.", "Three."]);
	});

	test("that agy dropped is sent once more in a fresh conversation, with the history", async () => {
		await stage.say("One.");
		stage.behave = (link, prompt) => {
			if (link === stage.links[0]) link.print(link.result());
			else link.answer(prompt);
		};
		expect(await stage.say("Two.")).toMatchObject({ stopReason: "stop" });
		expect(conversations()).toStrictEqual([null, null]);
		expect(stage.toldTo("c2")).toMatch(/One\.[\s\S]*Two\./);
	});

	test("is not sent a third time; the next prompt brings it, in a file, or it would be dropped again", async () => {
		await stage.say("One.");
		stage.behave = (link) => (link === stage.links[0] ? dies(link) : link.print(link.result()));
		expect(await stage.say("Two.")).toMatchObject({ stopReason: "error" });
		expect(stage.links).toHaveLength(2);
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Three.");
		expect(stage.toldTo(stage.link.conversationId)).toMatch(/One\.[\s\S]*Two\./);
		expect(stage.link.heard.at(-1)).toMatch(/in the file[\s\S]*\n\nThree\.$/);
	});

	test("is not sent again when the user stopped it", async () => {
		await stage.say("One.");
		const abort = new AbortController();
		stage.behave = (link) => {
			abort.abort();
			dies(link);
		};
		expect(await stage.say("Two.", { signal: abort.signal })).toMatchObject({ stopReason: "aborted" });
		expect(stage.links).toHaveLength(1);
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Three.");
		expect(stage.link.heard).toStrictEqual(["Two.\n\nThree."]);
	});

	test("by a process that was made for it is an error, and comes with the next prompt", async () => {
		stage.behave = dies;
		const message = await stage.say("One.");
		expect(message.errorMessage).toContain("exited with code 1");
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Two.");
		expect(stage.link.heard).toStrictEqual(["One.\n\nTwo."]);
	});
});

describe("what becomes of the process", () => {
	test.each<[string, (link: AgyLink, prompt: string) => void, AgyLink["state"]]>([
		["after an answer it takes the next prompt", (link, prompt) => link.answer(prompt), "idle"],
		[
			"after an error it is closed",
			(link, prompt) => {
				link.read(prompt);
				link.print(link.result({ status: "ERROR", error: "UNAVAILABLE (code 503)" }));
			},
			"closed",
		],
		[
			"with a withheld answer it ends by itself",
			(link, prompt) => {
				link.read(prompt);
				link.print({ kind: "withheld-answer", step: 9, text: "Up." });
			},
			"draining",
		],
	])("%s", async (_name, behave, state) => {
		stage.behave = behave;
		await stage.say("One.");
		expect(stage.link.state).toBe(state);
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Two.");
		expect(conversations()).toStrictEqual(state === "idle" ? [null] : [null, "c1"]);
		expect(stage.prompt).toBe("Two.");
	});

	test("after a stop it is closed, and the conversation goes on without what was said before", async () => {
		const abort = new AbortController();
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(text("Half", 3));
			setImmediate(() => abort.abort());
		};
		const message = await stage.say("One.", { signal: abort.signal });
		expect(message).toMatchObject({ stopReason: "aborted", content: [{ text: "Half" }] });
		expect(stage.link.state).toBe("closed");
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Two.");
		expect(conversations()).toStrictEqual([null, "c1"]);
		expect(stage.link.heard).toStrictEqual(["Two."]);
	});

	test("of a turn that waits for pi it is closed when pi gives up on it", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(tool(5, "active"));
		};
		stage.messages.push(user("One."));
		expect(await stage.ask()).toMatchObject({ stopReason: "toolUse" });
		stage.provider.dropParked(stage.sessionId);
		stage.provider.dropParked(stage.sessionId);
		expect(stage.link.state).toBe("closed");
	});

	test("of a turn that waits for pi it is closed when the user says something else instead", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			if (prompt === "One.") link.print(tool(5, "active"));
			else link.answer("");
		};
		stage.messages.push(user("One."));
		await stage.ask();
		stage.messages.push(user("Two."));
		expect(await stage.ask()).toMatchObject({ stopReason: "stop" });
		expect(stage.links.map((link) => link.state)).toStrictEqual(["closed", "idle"]);
		expect(stage.link.heard).toStrictEqual(["Two."]);
	});

	test("is a line while there are too many", async () => {
		stage.onAcquire = ({ onWait }) => onWait();
		await stage.say("One.");
		expect(stage.notices).toStrictEqual(["All agy processes are busy; the turn waits for one."]);
	});

	test("nothing is begun any more when the session is over", async () => {
		await stage.provider.close();
		expect(await stage.say("One.")).toMatchObject({ stopReason: "aborted" });
		expect(stage.links).toHaveLength(0);
	});
});

describe("what fails before anything was sent", () => {
	test.each<[string, () => void, string]>([
		[
			"no agy",
			() => {
				stage.findBinary = () => Promise.reject(new AgyError("agy-not-found", "agy was not found."));
			},
			"agy was not found.",
		],
		[
			"no such model",
			() => {
				stage.catalog = new Catalog([{ slug: "other", name: "O" }], true);
			},
			"agy offers no model",
		],
		[
			"no process",
			() => {
				stage.onAcquire = () => {
					throw new AgyError("spawn-failed", "agy could not be started.");
				};
			},
			"agy could not be started.",
		],
	])("%s: the message says so, and the next prompt brings what was said", async (_name, breakIt, words) => {
		const { findBinary, catalog, onAcquire } = stage;
		breakIt();
		const message = await stage.say("One.");
		expect(message).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining(words) });
		expect(stage.links).toHaveLength(0);
		Object.assign(stage, { findBinary, catalog, onAcquire });
		await stage.say("Two.");
		expect(stage.link.heard).toStrictEqual(["One.\n\nTwo."]);
	});

	test("a full disk in the middle of a turn: what the user said comes with the next prompt", async () => {
		stage.behave = withCard;
		stage.messages.push(user("One."));
		await stage.runCalls(await stage.ask());
		const write = stage.spill.write.bind(stage.spill);
		stage.spill.write = () => Promise.reject(new Error("ENOSPC: no space left on device"));
		stage.messages.push(user([{ type: "text", text: "Like this:" }, image("image/png")]));
		expect(await stage.ask()).toMatchObject({ stopReason: "error", errorMessage: expect.stringContaining("ENOSPC") });
		stage.spill.write = write;
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Two.");
		expect(stage.prompt).toMatch(/^Like this:\n\n@\S+\.png\n\nTwo\.$/);
	});

	test("a hook: its error is shown, and the process goes back", async () => {
		const message = await stage.say("One.", {
			onPayload: () => {
				throw new Error("hook broke");
			},
		});
		expect(message.errorMessage).toContain("hook broke");
		expect(stage.link.state).toBe("idle");
		await stage.say("Two.");
		expect(stage.links).toHaveLength(1);
		expect(stage.link.heard).toStrictEqual(["One.\n\nTwo."]);
	});

	test.each(["connect ETIMEDOUT 1.2.3.4:443", "503 Service Unavailable", "socket hang up", "terminated", "overloaded"])(
		"is never a reason for pi to send it again: %s",
		async (words) => {
			stage.findBinary = () => Promise.reject(new Error(words));
			const message = await stage.say("One.");
			expect(message.errorMessage).toContain(words);
			expect(isRetryableAssistantError(message)).toBe(false);
		},
	);
});

describe("what is said of agy", () => {
	test("a warning about its version, once", async () => {
		stage.binary = { ...stage.binary, warning: "agy 1.1.18 has known defects." };
		await stage.say("One.");
		await stage.say("Two.");
		expect(stage.notices).toStrictEqual(["agy 1.1.18 has known defects."]);
	});

	test("that it runs another model than asked for", async () => {
		stage.binary = { ...stage.binary, namesItselfFirst: false };
		stage.behave = (link, prompt) => {
			if (link.turns === 1) link.introduce("gemini-x");
			link.answer(prompt);
		};
		await stage.say("One.");
		expect(stage.notices).toStrictEqual(["agy runs the model gemini-x, not gemini-3.8-flash as asked."]);
	});

	test("that its context is full, so that pi compacts", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(link.result({ status: "ERROR", error: "The input token count (1196265) exceeds the maximum" }));
		};
		expect(isContextOverflow(await stage.say("One."))).toBe(true);
	});
});

describe("cards", () => {
	test("are calls that pi runs, and the turn goes on with their results", async () => {
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(text("First.", 3), tool(5, "active"), failedTool(6, "no"));
			link.print(tool(5, "done", { output: "4 passed" }));
			link.print(text("Last.", 7), link.result({ text: "First.Last." }));
		};
		await stage.say("One.");
		expect(stage.messages.map((message) => message.role)).toStrictEqual([
			"user",
			"assistant",
			"toolResult",
			"toolResult",
			"assistant",
		]);
		expect(stage.messages.at(-1)).toMatchObject({ stopReason: "stop", content: [{ text: "Last." }], responseId: "c1" });
		stage.behave = (link, prompt) => link.answer(prompt);
		await stage.say("Two.");
		expect(stage.links).toHaveLength(1);
		expect(stage.prompt).toBe("Two.");
	});

	test("are lines where pi has no tool for them", async () => {
		stage.hasStepTool = false;
		stage.behave = withCard;
		const message = await stage.say("One.");
		expect(message.content).toMatchObject([
			{ type: "thinking", thinking: "[agy ran run_command]\n" },
			{ text: "done" },
		]);
	});
});

describe("settings that change while pi runs", () => {
	test("are for the next turn, in another process that goes on with the conversation", async () => {
		await stage.say("One.");
		Object.assign(stage.config, {
			mode: "accept-edits",
			skipPermissions: false,
			extraArgs: ["--x"],
			agent: "reviewer",
		});
		await stage.say("Two.");
		expect(
			stage.links.map(({ spec: { profile } }) => [profile.mode, profile.skipPermissions, profile.extraArgs]),
		).toEqual([
			["default", true, []],
			["accept-edits", false, ["--x"]],
		]);
		expect(stage.link.spec).toMatchObject({ conversationId: "c1", profile: { agent: "reviewer" } });
	});

	test("are not for a turn on its way", async () => {
		const find = stage.findBinary;
		stage.findBinary = async () => {
			Object.assign(stage.config, { mode: "plan", skipPermissions: false });
			return find();
		};
		await stage.say("One.");
		expect(stage.link.spec.profile).toMatchObject({ mode: "default", skipPermissions: true });
	});
});

describe("read-only", () => {
	const REFUSAL = {
		stopReason: "error",
		errorMessage: expect.stringMatching(/^Nothing was sent to agy: readonly is on .* To go on: \/agy readonly off\.$/),
	};

	test("runs no turn and no side request until it is off", async () => {
		stage.config.isReadOnly = true;
		stage.config.provenance = { readonly: "config.json: readonly" };
		expect(await stage.say("One.")).toMatchObject(REFUSAL);
		stage.messages.push(user("Summarise."));
		expect(await stage.ask({ cacheRetention: "none" })).toMatchObject(REFUSAL);
		expect(stage.links).toStrictEqual([]);
		stage.config.isReadOnly = false;
		expect(await stage.say("Two.")).toMatchObject({ stopReason: "stop" });
	});

	test("names the variable that has to be unset", async () => {
		stage.config.isReadOnly = true;
		stage.config.provenance = { readonly: "AGY_READONLY" };
		expect(await stage.say("One.")).toMatchObject({
			errorMessage: expect.stringContaining("To go on: unset AGY_READONLY."),
		});
	});

	test("holds for a turn on its way, too: nothing is sent, and its process is given back", async () => {
		const find = stage.findBinary;
		stage.findBinary = async () => {
			stage.config.isReadOnly = true;
			return find();
		};
		expect(await stage.say("One.")).toMatchObject(REFUSAL);
		expect(stage.link.heard).toStrictEqual([]);
		expect(stage.link.state).toBe("idle");
	});
});

describe("a side request", () => {
	const side = { cacheRetention: "none" as const };

	test.each([
		["of pi's summariser", side],
		["without a session", { sessionId: undefined as unknown as string }],
	])("%s has a process and a conversation of its own, which end with it", async (_name, options) => {
		await stage.say("One.");
		stage.messages.push(system("Summarise."), user("All of it."));
		const message = await stage.ask(options);
		expect(message).toMatchObject({ stopReason: "stop" });
		const [own, other] = stage.links;
		expect(other?.spec).toMatchObject({
			sessionId: null,
			conversationId: null,
			profile: { agent: null, skipPermissions: false },
		});
		expect(stage.prompt).toMatch(/^Summarise\.\n\nThe conversation so far is in the file[\s\S]*\n\nAll of it\.$/);
		expect(stage.toldTo("c2")).toMatch(/One\.[\s\S]*ok[\s\S]*All of it\./);
		expect([own?.state, other?.state]).toStrictEqual(["idle", "closed"]);
		expect(await stage.binding()).toMatchObject({ conversationId: "c1" });
	});

	test("leaves the user's conversation as it is", async () => {
		await stage.say("One.");
		const before = stage.messages;
		stage.messages = [user("Summarise this.")];
		await stage.ask(side);
		stage.messages = [...before];
		await stage.say("Two.");
		expect(stage.links[0]?.heard).toStrictEqual(["One.", "Two."]);
		expect(stage.notices).toStrictEqual([]);
	});

	test("shows no cards, is sent once, and can be stopped", async () => {
		const abort = new AbortController();
		stage.behave = (link, prompt) => {
			link.read(prompt);
			link.print(tool(5, "active"));
			setImmediate(() => abort.abort());
		};
		stage.messages.push(user("One."));
		const message = await stage.ask({ ...side, signal: abort.signal });
		expect(message).toMatchObject({ stopReason: "aborted", content: [] });
		expect(stage.links).toHaveLength(1);
		expect(stage.link.state).toBe("closed");
	});

	test("is not sent again when its process dies at once", async () => {
		stage.behave = (link) => link.print(link.result());
		stage.messages.push(user("One."));
		expect(await stage.ask(side)).toMatchObject({ stopReason: "error" });
		expect(stage.links).toHaveLength(1);
	});
});

test("whatever a session goes through, agy hears everything once and in order, and no process is left over", async () => {
	stage.recycles = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(anyAct, { minLength: 1, maxLength: 10 }), async (acts) => {
			await stage.startOver();
			const play = new SessionPlay(stage);
			const last: Act = { do: "turn", end: "answer", words: 1, steers: false, recycles: false };
			for (const act of [...acts, last, { do: "recycle" } as const, last]) await play.act(act);
			expect([...play.problems, ...stage.problems]).toStrictEqual([]);
			const states = stage.links.map(({ state }) => state);
			expect(states).not.toContain("running");
			expect(states.filter((state) => state === "idle").length).toBeLessThanOrEqual(1);
			// Each turn has kept its process, left it to drain or closed it: one of them, once.
			expect(stage.links.map((link) => link.givenBack)).toStrictEqual(stage.links.map((link) => link.givenOut));
		}),
		{ numRuns: 100 },
	);
	expect(stage.recycles).toBeGreaterThan(10); // Or it proves little.
}, 60_000);

describe("what came of a tool after agy had stopped waiting", () => {
	const result = { content: [{ type: "text" as const, text: "BUILD-GREEN" }], isError: false };

	/** It waits to be told. */
	function withLate(): void {
		stage.bridge.giveBack([{ tool: "build", reason: "", result }]);
	}

	const isTold = () => [...stage.told.values()].flat().join("\n").split("BUILD-GREEN").length - 1;

	test("goes with the next prompt when one was stopped before it was sent", async () => {
		await stage.say("Zero.");
		withLate();
		const abort = new AbortController();
		const onPayload = (payload: unknown) => {
			abort.abort();
			return payload;
		};
		await stage.say("One.", { signal: abort.signal, onPayload });
		await stage.say("Two.");
		expect(isTold()).toBe(1);
	});

	test("goes with the next prompt when no process was to be had", async () => {
		await stage.say("Zero.");
		withLate();
		stage.link.state = "closed";
		stage.onAcquire = () => {
			throw new AgyError("lane-down", "The worker threads stay down.");
		};
		await stage.say("One.");
		stage.onAcquire = () => {};
		await stage.say("Two.");
		expect(isTold()).toBe(1);
	});

	test("is told to the fresh conversation that takes the place of a lost one", async () => {
		await stage.say("Zero.");
		withLate();
		stage.link.state = "closed";
		stage.lost.add("c1");
		await stage.say("One.");
		expect(isTold()).toBe(1);
	});
});

test("a request that is over is kept by nothing of the session", async () => {
	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc") as () => void;
	const requests: WeakRef<object>[] = [];
	for (let count = 0; count < 20; count++) {
		const onPayload = (payload: unknown) => payload;
		requests.push(new WeakRef(onPayload));
		await stage.say(`words ${count}`, { signal: new AbortController().signal, onPayload });
	}
	await until("nearly all are gone", () => {
		collect();
		return requests.filter((request) => request.deref()).length < 5;
	});
});
