/** ComfyUI behind routing: what becomes of a request that waits in its queue when it goes away. */
import { expect, it, onTestFinished } from "vitest";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { Comfy } from "./comfyui-server.js";
import { backendFor } from "./comfyui-subject.js";

/** A server that is busy with somebody else, and one that is not. */
async function busyAndIdle() {
  const servers = [await Comfy.start(), await Comfy.start()] as const;
  const backends = servers.map(({ url }, i) => backendFor(url, { name: `comfy ${i}` }));
  for (const server of servers) onTestFinished(() => server.close());
  for (const backend of backends) onTestFinished(() => backend.close());
  const { signal } = new AbortController();
  await Promise.all(backends.map((backend) => backend.ready?.("", signal)));
  servers[0].occupy();
  return { busy: servers[0], core: coreOf(backends) };
}

it.each([
  ["that is killed", (comfy: Comfy) => comfy.close()],
  [
    "that was started again, and knows nothing",
    (comfy: Comfy) => {
      comfy.next.push({
        path: "/queue",
        play: (response) => response.end('{"queue_running":[],"queue_pending":[]}'),
      });
    },
  ],
])("a server %s: another one is asked", async (_, disturb) => {
  const { busy, core } = await busyAndIdle();
  const answer = outcome(core, "textToImage", { prompt: "a circle", width: 64, height: 64 });
  await busy.asked("/prompt");
  await busy.asked("/queue");
  await disturb(busy);
  const { code, metadata } = await answer;
  expect(code).toBe("ok");
  expect(metadata.get("x-lintel-attempts")).toBe("2");
});
