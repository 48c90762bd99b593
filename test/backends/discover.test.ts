/** Model servers on this machine are found. */
import { afterEach, expect, it } from "vitest";
import { type Candidate, discover } from "../../src/backends/discover.js";
import { Comfy, play } from "./comfyui-server.js";
import { fixture } from "./fixture.js";
import { Webui } from "./sdapi-server.js";
import { type Script, Upstream } from "./upstream.js";

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const candidate = (type: Candidate["type"], name: string, url: string) => ({ type, name, url });

async function serve(script: Script): Promise<Upstream> {
  const upstream = await Upstream.start(script);
  cleanups.push(() => upstream.close());
  return upstream;
}

it("finds image servers that have a checkpoint, and nobody else", async () => {
  const webui = await Webui.start();
  const comfy = await Comfy.start();
  const bare = await Comfy.start();
  const path = "/object_info/CheckpointLoaderSimple";
  bare.next.push({ path, play: (response) => response.end("{}") });
  const other = await serve((exchange) => exchange.send(200, {}, "<html>"));
  const noApi = await serve((exchange) => exchange.play(fixture("a1111/no-api")));
  const gone = await serve(() => {});
  await gone.close();
  cleanups.push(
    () => webui.upstream.close(),
    () => comfy.close(),
    () => bare.close(),
  );
  comfy.next.push({ path, play: play(fixture("comfyui/checkpoints")) });
  const found = await discover(5000, [
    candidate("sdapi", "a", webui.upstream.url),
    candidate("comfyui", "b", comfy.url),
    candidate("comfyui", "c", bare.url),
    candidate("sdapi", "d", other.url),
    candidate("comfyui", "e", other.url),
    candidate("sdapi", "f", noApi.url),
    candidate("sdapi", "g", gone.url),
  ]);
  expect(found).toMatchObject([
    { type: "sdapi", name: "a", url: webui.upstream.url, dialect: "auto", batch: 1 },
    { type: "comfyui", name: "b", url: comfy.url },
  ]);
});

it("finds the servers that list models, and nothing else", async () => {
  const good = await serve((exchange) => exchange.play(fixture("ollama/models")));
  const empty = await serve((exchange) => exchange.play(fixture("ollama/models-none")));
  const page = await serve((exchange) => exchange.send(200, {}, "<html>"));
  const other = await serve((exchange) => exchange.sendJson(200, { data: [{ name: "x" }] }));
  const refusing = await serve((exchange) => exchange.sendJson(401, {}));
  const gone = await serve(() => {});
  await gone.close();
  const found = await discover(5000, [
    candidate("openai", "good", good.url),
    candidate("openai", "empty", empty.url),
    candidate("openai", "page", page.url),
    candidate("openai", "other", other.url),
    candidate("openai", "refusing", refusing.url),
    candidate("openai", "gone", gone.url),
  ]);
  expect(found).toMatchObject([{ type: "openai", name: "good", url: good.url }]);
  expect(good.requests.map(({ path }) => path)).toEqual(["/v1/models"]);
});

it("waits for nobody longer than it is told to, and leaves no connection", async () => {
  const hanging = await serve((exchange) => exchange.gone);
  expect(await discover(50, [candidate("openai", "hanging", hanging.url)])).toEqual([]);
  await expect.poll(() => hanging.open).toBe(0);
});
