/** A process that adds to a counter in a JSON store, for the tests of several writers. Arguments: path, times. */
import { JsonStore } from "../../src/main/json-store.ts";

const [path = "", times = "0"] = process.argv.slice(2);
const store = new JsonStore(path);
for (let index = 0; index < Number(times); index++) {
	await store.update((file) => ({ ...file, count: Number(file.count ?? 0) + 1, [`writer-${process.pid}`]: index + 1 }));
}
