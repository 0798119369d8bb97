import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { GeneratedImages } from "../../../src/main/cards/step-images.ts";
import { Folder } from "../../support/folder.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n....", "latin1");
const JPEG = Buffer.from("\xff\xd8\xff\xe0....", "latin1");
const WEBP = Buffer.from("RIFF....WEBPVP8 ", "latin1");
const SINCE_MS = 1_800_000_000_000;

const folder = new Folder();
let generated: GeneratedImages;

beforeEach(() => {
	generated = new GeneratedImages();
	mkdirSync(folder.at("brain", ".tempmediaStorage"), { recursive: true });
});

/** Writes a file that changed so long after the step was seen; answers its real path. */
function put(name: string, content: Buffer | string, afterMs = 0): string {
	const path = folder.at("brain", name);
	writeFileSync(path, content);
	utimesSync(path, (SINCE_MS + afterMs) / 1000, (SINCE_MS + afterMs) / 1000);
	return path;
}

const collect = () => generated.collect(folder.at("brain"), SINCE_MS);

describe("what agy made", () => {
	test.each([
		["a PNG", PNG, "image/png"],
		["a JPEG", JPEG, "image/jpeg"],
		["a WebP", WEBP, "image/webp"],
	])("is shown: %s, whatever its name", async (_name, bytes, mimeType) => {
		const path = put("picture.bin", bytes);
		expect(await collect()).toStrictEqual({
			summary: path,
			images: [{ type: "image", data: bytes.toString("base64"), mimeType }],
		});
	});

	test("is shown newest first, also from where generated media are kept, and four at most", async () => {
		const names = ["a.png", ".tempmediaStorage/b.png", "c.png", "d.png", "e.png"];
		const paths = names.map((name, index) => put(name, PNG, index * 10));
		const { summary, images } = await collect();
		expect(summary.split("\n")).toStrictEqual(paths.toReversed().slice(0, 4));
		expect(images).toHaveLength(4);
	});

	test("is shown once, and again when it has changed", async () => {
		put("a.png", PNG);
		const [first, second] = await Promise.all([collect(), collect()]);
		expect([first.images.length, second.images.length]).toStrictEqual([1, 0]);
		put("a.png", JPEG, 50);
		expect((await collect()).images).toMatchObject([{ mimeType: "image/jpeg" }]);
	});

	test("is named only, when it is too large", async () => {
		const path = put("a.png", Buffer.concat([PNG, Buffer.alloc(3 * 1024 * 1024)]));
		expect(await collect()).toStrictEqual({ summary: `${path} (too large to be shown)`, images: [] });
	});
});

describe("nothing is shown of", () => {
	test.each<[string, () => void]>([
		["a text with an image's name", () => put("a.png", "no image")],
		["a RIFF file that is no image", () => put("a.webp", "RIFF....WAVEfmt ")],
		["an empty file", () => put("a.png", "")],
		["a large file of another kind", () => put("a.db", Buffer.alloc(4 * 1024 * 1024))],
		["what is older than the step", () => put("a.png", PNG, -10_000)],
		["a hidden file", () => put(".a.png", PNG)],
		["a folder", () => mkdirSync(folder.at("brain", "a.png"))],
		["a link to nowhere", () => symlinkSync("nowhere", folder.at("brain", "a.png"))],
		[
			"a link out of the folder",
			() => {
				writeFileSync(folder.at("secret.png"), PNG);
				symlinkSync(folder.at("secret.png"), folder.at("brain", "a.png"));
			},
		],
	])("%s", async (_name, make) => {
		make();
		expect(await generated.collect(folder.at("brain"), SINCE_MS)).toStrictEqual({ summary: "", images: [] });
	});

	test("a folder that is not there, or a link to other folders", async () => {
		expect((await generated.collect(folder.at("nowhere"), SINCE_MS)).images).toStrictEqual([]);
		mkdirSync(folder.at("other", "x"), { recursive: true });
		mkdirSync(folder.at("bare"));
		writeFileSync(folder.at("other", "x", "a.png"), PNG);
		symlinkSync(folder.at("other", "x"), folder.at("bare", ".tempmediaStorage"));
		expect((await generated.collect(folder.at("bare"), 0)).images).toStrictEqual([]);
	});
});
