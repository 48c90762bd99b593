/** Which models servers of the web API have. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { dialects } from "../../src/backends/sdapi/dialect.js";
import { readCheckpoints } from "../../src/backends/sdapi/inventory.js";
import { loraNames, lorasFor } from "../../src/backends/sdapi/loras.js";
import { never } from "../support/calls.js";
import { fixture } from "./fixture.js";
import { imagesOf } from "./image-events.js";
import { against, failed, run } from "./sdapi-calls.js";
import { Webui } from "./sdapi-server.js";
import { backendFor } from "./sdapi-subject.js";
import { Upstream } from "./upstream.js";

describe("the models", () => {
  it.each([
    ["a1111", ["v1-5-pruned-emaonly", "xl_sd_xl_base_1.0"], "AUTOMATIC1111"],
    ["sdnext", ["v1-5-pruned-emaonly"], "SD.Next"],
    ["sdcpp", ["sd-v1-4"], "stable-diffusion.cpp"],
    ["koboldcpp", ["sd-v1-4"], "KoboldCpp"],
  ] as const)("of %s are those that it lists", async (product, ids, source) => {
    const { backend } = await against(product);
    expect(backend.models().map(({ id }) => id)).toEqual(ids);
    const [model] = backend.models();
    expect(model).toMatchObject({ state: State.READY, source });
    expect(model?.supports).toContain("loras");
    const webui = source === "AUTOMATIC1111" || source === "SD.Next";
    expect(model?.supports.includes("include_previews")).toBe(webui);
    expect(model?.loras).toEqual(webui ? ["pixel-art-v2", "watercolor"] : ["watercolor"]);
  });

  it("are those that are configured, and what is missing says so", async () => {
    const models = ["sd_xl_base_1.0", "gone"];
    const { backend } = await against("a1111", { models });
    expect(backend.models()).toMatchObject([
      { id: "sd_xl_base_1.0", state: State.READY },
      { id: "gone", state: State.FAILED, stateDetail: "the model server does not have it" },
    ]);
    expect(imagesOf(await run(backend))).toHaveLength(1);
    await expect(run(backend, { modelId: "gone" })).rejects.toThrowError(failed("model_not_found"));
  });

  it("that are configured by their titles are there also once the server knows their hashes", async () => {
    const title = "xl/sd_xl_base_1.0.safetensors";
    const { webui, backend } = await against("a1111", { models: [title], refresh: 1 });
    expect(backend.models()).toMatchObject([{ id: title, state: State.READY }]);
    webui.upstream.route("/sdapi/v1/sd-models", (exchange) =>
      exchange.sendJson(200, [
        {
          title: `${title} [31e35c80fc]`,
          model_name: "xl_sd_xl_base_1.0",
          hash: "31e35c80fc",
          filename: `/srv/webui/models/Stable-diffusion/${title}`,
        },
      ]),
    );
    const listed = webui.times("/sdapi/v1/sd-models");
    await vi.waitUntil(() => webui.times("/sdapi/v1/sd-models") >= listed + 3);
    expect(backend.models()).toMatchObject([{ id: title, state: State.READY }]);
    await run(backend, { modelId: title });
    expect(webui.asked[0].override_settings.sd_model_checkpoint).toBe(`${title} [31e35c80fc]`);
  });

  it("of one name keep theirs once the server knows their hashes", () => {
    const listed = (hash: string) =>
      [".ckpt", ".safetensors"].map((end) => ({ title: `x${end}${hash}`, model_name: "x" }));
    for (const hash of ["", " [31e35c80fc]"]) {
      const ids = readCheckpoints(listed(hash)).map(({ id }) => id);
      expect(ids).toEqual(["x", "x.safetensors"]);
    }
  });

  it("are none where none is listed, and one without a name is one where it is alone", () => {
    const ids = (...titles: string[]) =>
      readCheckpoints(titles.map((title) => ({ title, model_name: title }))).map(({ id }) => id);
    expect([ids(), ids(""), ids("", "x"), ids("", "")]).toEqual([[], ["default"], ["x"], []]);
  });

  it("have no LoRAs whose names no tag can hold, where they are asked for by tags", async () => {
    const known = [
      { name: "a:b", alias: "", path: "a_b.safetensors" },
      { name: "c", alias: "sea", path: "styles/c.safetensors" },
    ];
    const { a1111, sdcpp } = dialects;
    expect([loraNames(known, a1111), loraNames(known, sdcpp)]).toEqual([["c"], ["a:b", "c"]]);
    const asked = '{"a:b":1,"styles/c.safetensors":0.5}';
    const found = await lorasFor(asked, sdcpp, async () => known);
    expect(found.map(({ name, weight }) => [name, weight])).toEqual([
      ["a:b", 1],
      ["c", 0.5],
    ]);
    await expect(lorasFor(asked, a1111, async () => known)).rejects.toMatchObject({
      code: "invalid_value",
      message: 'loras: the model server has no LoRA "a:b"',
    });
  });

  it("take LoRAs no longer of a server that knows none by now", async () => {
    const { webui, backend } = await against("a1111", { refresh: 1 });
    const takes = () => backend.models()[0]?.supports.includes("loras");
    expect(takes()).toBe(true);
    webui.upstream.route("/sdapi/v1/loras", (exchange) => exchange.play(fixture("a1111/no-api")));
    await expect.poll(takes).toBe(false);
  });

  it("don't take LoRAs where the server knows none", async () => {
    const upstream = await Upstream.start((exchange) =>
      exchange.play(
        fixture(/sd-models/.test(exchange.request.path) ? "a1111/models" : "a1111/no-api"),
      ),
    );
    onTestFinished(() => upstream.close());
    const backend = backendFor(upstream.url);
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models()[0]?.supports).not.toContain("loras");
  });

  it("take LoRAs also where what was noted of their training fills megabytes", async () => {
    const webui = await Webui.start();
    onTestFinished(() => webui.upstream.close());
    const metadata = { ss_tag_frequency: "x".repeat(18 * 1024 * 1024) };
    webui.upstream.route("/sdapi/v1/loras", (exchange) =>
      exchange.sendJson(200, [{ name: "watercolor", alias: "", path: "", metadata }]),
    );
    const backend = backendFor(webui.upstream.url);
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    expect(backend.models()[0]).toMatchObject({ loras: ["watercolor"] });
    await run(backend, { loras: '{"watercolor":1}' });
    expect(webui.asked[0].prompt).toBe("a red cube<lora:watercolor:1>");
  });

  it("take LoRAs, and follow tasks, also while a busy server can't say so again", async () => {
    const webui = await Webui.start();
    onTestFinished(() => webui.upstream.close());
    const backend = backendFor(webui.upstream.url, { refresh: 1 });
    onTestFinished(() => backend.close());
    await backend.ready?.("", never);
    const listed = (times: number) =>
      vi.waitUntil(() => webui.times("/sdapi/v1/sd-models") >= times);
    for (const path of ["/sdapi/v1/loras", "/internal/progress"]) {
      webui.upstream.route(path, (exchange) => exchange.send(500, {}, ""));
    }
    // The one that is on its way may have been answered before, and the last one is not yet over.
    await listed(webui.times("/sdapi/v1/sd-models") + 3);
    expect(backend.models()[0]?.supports).toContain("loras");
    webui.next.push((exchange) => exchange.send(500, {}, ""));
    await expect(run(backend, { loras: '{"watercolor":1}' })).rejects.toThrowError();
    expect(webui.asked[0]).toMatchObject({
      prompt: "a red cube<lora:watercolor:1>",
      force_task_id: expect.stringContaining("task(lintel-"),
    });
  });

  it("are a web UI's no longer once stable-diffusion.cpp, behind a page for every path, is in its place", async () => {
    const { webui, backend } = await against("a1111", { refresh: 1 });
    webui.upstream.route("/api/extra/version", (exchange) =>
      exchange.send(200, { "content-type": "text/html" }, "<!doctype html>"),
    );
    webui.upstream.route("/sdapi/v1/sd-models", (exchange) =>
      exchange.play(fixture("sdcpp/models")),
    );
    const source = "stable-diffusion.cpp";
    const listed = webui.times("/sdapi/v1/sd-models");
    await vi.waitUntil(() => webui.times("/sdapi/v1/sd-models") >= listed + 3);
    expect(backend.models()[0]).toMatchObject({ id: "sd-v1-4", source });
  });

  it.each([[{}], [[7]], [[null]], [[{ title: 7 }]], [["v1-5"]]])(
    "can't be read where the server lists %j",
    async (entries) => {
      const upstream = await Upstream.start((exchange) => exchange.sendJson(200, entries));
      onTestFinished(() => upstream.close());
      const backend = backendFor(upstream.url);
      onTestFinished(() => backend.close());
      await expect(backend.ready?.("", never)).rejects.toThrowError(failed("upstream_failed"));
    },
  );

  it.each([
    ["refuses the password", "a1111/unauthorized"],
    ["has no API", "a1111/no-api"],
  ])("can't be read where the server %s", async (_what, name) => {
    const upstream = await Upstream.start((exchange) => exchange.play(fixture(name)));
    onTestFinished(() => upstream.close());
    const backend = backendFor(upstream.url, { username: "ada", password: "secret" });
    onTestFinished(() => backend.close());
    const error = await backend.ready?.("", never).catch((thrown: unknown) => thrown);
    expect(error).toEqual(failed("upstream_failed"));
    expect((error as Error).message).not.toMatch(/secret|ada|127/);
    await expect(backend.health(never)).rejects.toThrowError(failed("upstream_failed"));
  });
});
