/** Image servers on this machine are found. */
import { expect, it, onTestFinished } from "vitest";
import { discoverImageServers } from "../../src/backends/discover-images.js";
import { Comfy, play } from "./comfyui-server.js";
import { fixture } from "./fixture.js";
import { Webui } from "./sdapi-server.js";
import { Upstream } from "./upstream.js";

it("finds servers that have a checkpoint, and nobody else", async () => {
  const webui = await Webui.start();
  const comfy = await Comfy.start();
  const bare = await Comfy.start();
  const path = "/object_info/CheckpointLoaderSimple";
  bare.next.push({ path, play: (response) => response.end("{}") });
  const other = await Upstream.start((exchange) => exchange.send(200, {}, "<html>"));
  const noApi = await Upstream.start((exchange) => exchange.play(fixture("a1111/no-api")));
  const gone = await Upstream.start();
  await gone.close();
  onTestFinished(() => webui.upstream.close());
  onTestFinished(() => comfy.close());
  onTestFinished(() => bare.close());
  onTestFinished(() => other.close());
  onTestFinished(() => noApi.close());
  comfy.next.push({ path, play: play(fixture("comfyui/checkpoints")) });
  const candidate = (type: "sdapi" | "comfyui", name: string, url: string) => ({ type, name, url });
  const found = await discoverImageServers(5000, [
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
