/** A gateway before GGUF models in a process of their own. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { EmbeddedBackend } from "../../src/backends/embedded/index.js";
import { silent } from "../../src/core/log.js";
import { chunks, json, type Served, serve } from "../doors/serve.js";
import { never } from "../support/calls.js";
import { file } from "./llama-subject.js";

/** Serves a file until the test is over. @param more of the configuration */
export async function serveFile(path: string, more: { context_size?: number } = {}) {
  await promisify(execFile)(process.execPath, [file("scripts/build.js"), "--if-stale"]);
  const embedded = new EmbeddedBackend(
    { type: "embedded", name: "embedded", models: [path], ...more },
    { log: silent },
    { entry: file("dist/src/main.js") },
  );
  onTestFinished(() => embedded.close());
  const server = await serve(embedded);
  await embedded.ready("", never);
  return server;
}

/** The choices of an answer by OpenAI's path: the one of a whole answer, or those of its chunks. */
export async function choicesOf(
  { post }: Served,
  body: Record<string, unknown> & { stream: boolean },
) {
  const response = await post("/v1/chat/completions", body);
  expect(response.status).toBe(200);
  const said = body.stream ? await chunks(response) : [await json(response)];
  return said.flatMap(({ choices }) => choices);
}
