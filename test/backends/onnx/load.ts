/** Loads a model where a gateway or a node does, and ends: an image model, or a checker of images. */
import { PNG } from "pngjs";
import { enginePackages } from "../../../src/backends/onnx/protocol.js";
import { PipelineThread } from "../../../src/backends/onnx/thread.js";
import { silent } from "../../../src/core/log.js";
import { ThreadChecker } from "../../../src/safety/thread.js";

const [what, folder = ""] = process.argv.slice(2);
if (what === "images") {
  const thread = new PipelineThread({ folder, threads: 1, packages: enginePackages });
  await thread.loaded;
  await thread.close();
} else {
  const settings = { kind: "classifier", folder, labels: ["nsfw"], threshold: 0.5 } as const;
  const checker = new ThreadChecker(settings, silent);
  const png = PNG.sync.write(new PNG({ width: 8, height: 8 }));
  await checker.isHarmful(png, new AbortController().signal);
  await checker.close();
}
console.log("loaded");
