import { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
	LargeResult,
	MAX_IMAGE_CHARS,
	MAX_STRUCTURED_CHARS,
	MAX_TEXT_CHARS,
} from "../../../src/main/bridge/large-result.ts";
import type { CallResult, ContentBlock } from "../../../src/main/bridge/mcp-server.ts";

/** Takes one piece in a turn of the event loop. */
class SlowReader extends Writable {
	readonly pieces: Buffer[] = [];

	override _write(piece: Buffer, _encoding: string, done: () => void): void {
		this.pieces.push(piece);
		setImmediate(done);
	}

	/** All it was given. */
	async text(): Promise<string> {
		await new Promise<void>((resolve) => this.end(resolve));
		return Buffer.concat(this.pieces).toString("utf8");
	}
}

const never = new AbortController().signal;

function image(byteLength: number, byte = 1): ContentBlock {
	return { type: "image", data: Buffer.alloc(byteLength, byte).toString("base64"), mimeType: "image/png" };
}

function ofBlocks(...content: readonly ContentBlock[]): CallResult {
	return { content, isError: false };
}

const text = (value: string): ContentBlock => ({ type: "text", text: value });

describe("a result", () => {
	test("that is small stays what it is", async () => {
		const result = { ...ofBlocks(text("é"), image(900)), isError: true, structuredContent: { a: [1, { b: null }] } };
		expect(await new LargeResult().shrink(result)).toStrictEqual(result);
	});

	test.each<readonly [string, readonly ContentBlock[], readonly ContentBlock[]]>([
		["text at its limit", [text("x".repeat(MAX_TEXT_CHARS))], [text("x".repeat(MAX_TEXT_CHARS))]],
		[
			"text that is too long",
			[text("x".repeat(MAX_TEXT_CHARS - 1)), text("abc"), text("d")],
			[text("x".repeat(MAX_TEXT_CHARS - 1)), text("a\n[cut: 2 more characters]"), text("[Text was left out.]")],
		],
		[
			"an image that is too large",
			[{ type: "image", data: "A".repeat(MAX_IMAGE_CHARS + 4), mimeType: "image/png" }],
			[text("[An image (image/png) was left out: it is too large.]")],
		],
		...[
			'A",',
			"AAA",
			"AA=A",
			"=AAA",
			"AAAA ",
			"é===",
			`${"A".repeat(100_000)}"}]`,
			`${"A".repeat(65_536)}=`,
			`${"A".repeat(65_534)}==AAAA`,
		].map((data): readonly [string, readonly ContentBlock[], readonly ContentBlock[]] => [
			`image data that ends in ${data.slice(-5)}`,
			[{ type: "image", data, mimeType: "image/png" }],
			[text("[An image (image/png) was left out: it is damaged.]")],
		]),
	])("with %s says what was left out", async (_name, content, expected) => {
		expect((await new LargeResult().shrink({ content, isError: false })).content).toStrictEqual(expected);
	});

	test.each([
		["many characters", { a: "x".repeat(MAX_STRUCTURED_CHARS) }],
		["many values", { a: Array.from({ length: MAX_STRUCTURED_CHARS }, () => 0) }],
		["long keys", { ["x".repeat(MAX_STRUCTURED_CHARS)]: 0 }],
	])("with structured content of %s goes without it", async (_name, structuredContent) => {
		const result = await new LargeResult().shrink({ ...ofBlocks(text("a")), structuredContent });
		expect(result).toStrictEqual(ofBlocks(text("a"), text("[Structured content was left out: it is too large.]")));
	});
});

describe("large images", () => {
	test("are put back into the response byte by byte, whatever stands around them", async () => {
		const large = new LargeResult();
		const result = ofBlocks(image(300_000, 1), text("é"), image(100_000, 2), image(300_000, 1), image(10));
		const small = JSON.stringify(await large.shrink(result));
		expect(small.length).toBeLessThan(1_000);
		const reader = new SlowReader();
		for (const piece of [": keepalive\n\n", `data: ${small}\n\n`, "end"]) {
			await large.write(reader, Buffer.from(piece), never);
		}
		expect((await reader.text()) === `: keepalive\n\ndata: ${JSON.stringify(result)}\n\nend`).toBe(true);
	});

	test("are written in slices, with time for other work between them", async () => {
		const large = new LargeResult();
		const small = JSON.stringify(await large.shrink(ofBlocks(image(3_000_000))));
		const reader = new SlowReader({ highWaterMark: 2 ** 30 }); // Never asks to wait.
		let turns = 0;
		const count = () => {
			turns += 1;
			counter = setImmediate(count);
		};
		let counter = setImmediate(count);
		await large.write(reader, Buffer.from(small), never);
		clearImmediate(counter);
		expect(turns).toBeGreaterThanOrEqual(4_000_000 / 65_536);
		expect(await reader.text()).toHaveLength(4_000_000 + small.length - 48);
		expect(Math.max(...reader.pieces.map((piece) => piece.length))).toBeLessThanOrEqual(65_536);
	});

	test("wait for a reader that is slow, and not for one that has gone", async () => {
		const large = new LargeResult();
		const small = Buffer.from(JSON.stringify(await large.shrink(ofBlocks(image(600_000)))));
		const left = new AbortController();
		const stuck = new Writable({ write: () => {} }); // Never done with its first piece.
		const written = large.write(stuck, small, left.signal);
		for (let turn = 0; turn < 30; turn += 1) await nextTurn(); // Enough to write all of it.
		left.abort();
		await expect(written).rejects.toThrow(/abort/i);
		expect(stuck.writableLength).toBeLessThan(200_000);
	});
});
