/** A `comfyui` backend before a scripted server. */
import { createComfyuiBackend } from "../../src/backends/comfyui/index.js";
import { comfyuiSchema } from "../../src/backends/comfyui/schema.js";
import type { Backend } from "../../src/core/backend.js";
import type { ErrorCode } from "../../src/core/error-table.js";
import { silent } from "../../src/core/log.js";
import type { BackendMethod, Input } from "../../src/core/methods.js";
import { never } from "../support/calls.js";
import { Comfy, linesOf, type Play, pictureOf, play } from "./comfyui-server.js";
import { fixture } from "./fixture.js";
import { smallRequest } from "./sdapi-subject.js";
import { type Held, held, type Subject } from "./subject.js";

/** A backend for a server; fields as in the configuration. */
export function backendFor(url: string, config: object = {}): Backend {
  const entry = comfyuiSchema.parse({ type: "comfyui", name: "test", url, poll: 1, ...config });
  return createComfyuiBackend(entry, { log: silent });
}

const answers = (path: string, to: Play) => (comfy: Comfy) =>
  void comfy.next.push({ path, play: to });
const refuses = (name: string) => answers("/prompt", play(fixture(`comfyui/${name}`)));
const tells =
  (...messages: string[]) =>
  (comfy: Comfy) => {
    comfy.messages = messages;
  };

/** Failures that the contract suite provokes: how they come out, and what the server does. */
export const failures: Readonly<Record<string, readonly [ErrorCode, (comfy: Comfy) => void]>> = {
  "a checkpoint that is gone": ["upstream_failed", refuses("missing-checkpoint")],
  "a node that is not installed": ["upstream_failed", refuses("missing-node")],
  "a value that a node does not take": ["invalid_value", refuses("too-wide")],
  "a node that fails": ["upstream_failed", tells(...linesOf("error"))],
  "work that somebody interrupts": [
    "upstream_failed",
    tells('{"type":"execution_interrupted","data":{"prompt_id":"ID","node_id":"5","executed":[]}}'),
  ],
  "an image that is gone": ["upstream_failed", answers("/view", (r) => r.writeHead(404).end())],
  "an image that is none": ["upstream_failed", answers("/view", (r) => r.end("<html>"))],
  "an image that is cut off": [
    "upstream_failed",
    answers("/view", (r) => r.end(Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]))),
  ],
  "a page of HTML": ["upstream_failed", answers("/prompt", (r) => r.end("<html>"))],
  "a proxy that refuses": ["upstream_failed", answers("/prompt", (r) => r.writeHead(403).end())],
  "a server that is full": ["unavailable", answers("/prompt", (r) => r.writeHead(503).end())],
  "a connection that breaks": [
    "upstream_failed",
    answers("/prompt", (response) => response.destroy()),
  ],
};

/** A subject for the contract suite. */
export async function comfySubject(config: (comfy: Comfy) => void = () => {}): Promise<Subject> {
  const comfy = await Comfy.start();
  config(comfy);
  const backend = backendFor(comfy.url);
  await backend.ready?.("", never);
  return {
    backend,
    request<M extends BackendMethod>(_: M, text = "a red cube"): Input<M> {
      return smallRequest({ prompt: text }) as Input<M>;
    },
    picture(request, seed) {
      const workflow = structuredClone(
        comfy.submitted.find((one) => one["2"]?.inputs.text === request.prompt) ?? {},
      );
      if (workflow["5"]) workflow["5"].inputs.seed = seed;
      return pictureOf(workflow);
    },
    hold(_, at): Held {
      comfy.stuck = at;
      return held(comfy);
    },
    provoke(failure) {
      failures[failure]?.[1](comfy);
    },
    close: () => comfy.close(),
  };
}
