// Stands in for programs that transcribe or speak: FILE says what the file is; --append FILE keeps what it is given to
// read; --hang stays until it is stopped.

import { appendFileSync, readFileSync } from "node:fs";

const [first = "", second = ""] = process.argv.slice(2);
if (first === "--hang") setInterval(() => {}, 1_000);
else if (first === "--append") appendFileSync(second, readFileSync(0));
else {
	const bytes = readFileSync(first);
	process.stdout.write(`${bytes.subarray(0, 4).toString("latin1")}, ${bytes.length} bytes\n`);
}
