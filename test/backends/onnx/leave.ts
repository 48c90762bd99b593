/**
 * A process that closes the backend in the middle of a job, or while it loads,
 * and then has nothing more to do. Its exit code says whether that went well.
 */
import { callOf } from "../subject.js";
import { backendOf, endless, folderOf, requestOf } from "./support.js";

const backend = backendOf(folderOf("tiny"));
const run = backend.handlers.streamTextToImage;
if (!run) throw new Error("no handler");

if (process.argv[2] === "running") {
  try {
    for await (const _ of run(callOf("streamTextToImage", requestOf(endless)))) {
      console.log("running");
      await backend.close();
    }
  } catch (error) {
    console.log((error as { code: string }).code);
  }
} else {
  await backend.close();
}
console.log("closed");
