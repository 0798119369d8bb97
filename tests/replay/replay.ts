/** `npm run replay -- <captured turn>`: prints what pi would have shown, and the verdict. */

import { readFileSync } from "node:fs";
import { play } from "./play.ts";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("usage: npm run replay -- <file below captures/>");
for (const line of await play(readFileSync(path, "utf8"))) console.log(line);
