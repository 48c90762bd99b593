/**
 * A process that closes the classifier while its model is loaded, and then has
 * nothing more to do. Its exit code says whether that went well.
 *
 * The model's file is a pipe: who opens it for writing knows that the engine has
 * opened it for reading, and waits there until the last byte is written.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { silent } from "../../src/core/log.js";
import { ThreadChecker } from "../../src/safety/thread.js";

const [folder = ""] = process.argv.slice(2);
const checker = new ThreadChecker(
  { kind: "classifier", folder, labels: ["nsfw"], threshold: 0.5 },
  silent,
);
const asked = checker.isHarmful(new Uint8Array(1), new AbortController().signal);
const pipe = await open(join(folder, "model.onnx"), "w");
const closed = checker.close().then(() => console.log("closed"));
await asked.catch(({ code }) => console.log(code));
console.log("still loading");
await pipe.close();
await closed;
