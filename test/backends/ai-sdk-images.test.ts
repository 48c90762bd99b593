import type { ImageModelV3 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { textToImage } from "../../src/backends/ai-sdk/images.js";
import { noSeed } from "../../src/core/image-events.js";
import { never, outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { isNewest } from "../support/newest.js";
import { drawn, thrownBy } from "./ai-sdk-calls.js";
import { aiSdkBackend, compatibleAt, drawing, falAnswer, falAt } from "./ai-sdk-subject.js";
import { fixture } from "./fixture.js";
import { imageRequest, picture, pixels } from "./picture.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Exchange, Script, Upstream } from "./upstream.js";

describe("OpenAI by its provider", () => {
  const openaiAt = (url: string, models: object[]) =>
    opened(
      aiSdkBackend({
        package: "@ai-sdk/openai",
        options: { apiKey: "sk-secret", baseURL: `${url}/v1` },
        models,
      }),
    );

  it("makes images several at a time, without seeds", async () => {
    const png = picture(64, 48, 1);
    const b64_json = png.toString("base64");
    const server = await serve((exchange) =>
      exchange.sendJson(200, {
        created: 1,
        data: ["A", "", "C"].map((revised_prompt) => ({ b64_json, revised_prompt })),
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      }),
    );
    const backend = openaiAt(server.url, [{ id: "gpt-image-1", task: "image" }]);
    await backend.ready?.("gpt-image-1", never);
    expect(backend.models()[0]?.supports).toEqual(["width", "height", "num_images_per_prompt"]);
    const { images } = await drawn(backend, { modelId: "gpt-image-1", numImagesPerPrompt: 3 });
    expect(images.map(({ data }) => pixels(data))).toEqual(Array(3).fill(pixels(png)));
    expect(images.map(({ seed }) => seed)).toEqual(Array(3).fill(noSeed));
    expect(images.map(({ revisedPrompt }) => revisedPrompt)).toEqual(["A", undefined, "C"]);
    expect(server.requests).toHaveLength(1);
    expect(JSON.parse(String(server.requests[0]?.body))).toMatchObject({ n: 3, size: "64x48" });
  });

  it("has failed where it makes fewer than it was asked for", async () => {
    const b64_json = picture(64, 48, 1).toString("base64");
    const server = await serve((exchange) => exchange.sendJson(200, { data: [{ b64_json }] }));
    const backend = openaiAt(server.url, [{ id: "gpt-image-1", task: "image" }]);
    const asked = drawn(backend, { modelId: "gpt-image-1", numImagesPerPrompt: 2 });
    expect(await thrownBy(asked)).toMatchObject({
      code: "upstream_failed",
      message: "the model server made 1 images instead of 2",
    });
  });

  it("is asked for a size that its models know where nobody says one", async () => {
    const server = await serve((exchange) => {
      const [width, height] = exchange.json().size.split("x").map(Number);
      const b64_json = picture(width, height, 1).toString("base64");
      return exchange.sendJson(200, { data: [{ b64_json }] });
    });
    const backend = openaiAt(server.url, [{ id: "gpt-image-1", task: "image" }]);
    const core = coreOf([backend]);
    const ask = (more: object) => outcome(core, "textToImage", { prompt: "a circle", ...more });
    expect((await ask({})).code).toBe("ok");
    expect((await ask({ width: 1536, height: 1024 })).code).toBe("ok");
    const sizes = server.requests.map(({ body }) => JSON.parse(String(body)).size);
    expect(sizes).toEqual(["1024x1024", "1536x1024"]);
    expect(backend.models()[0]?.defaults).toEqual({ width: 1024, height: 1024 });
  });

  it("that takes no sizes at all has none by default", () => {
    const model = { id: "m", task: "image", supports: [] };
    expect(openaiAt("http://127.0.0.1:9", [model]).models()[0]?.defaults).toEqual({});
    const chat = { id: "m" };
    expect(openaiAt("http://127.0.0.1:9", [chat]).models()[0]?.defaults).toEqual({});
  });
});

describe("fal", () => {
  const posts = ({ requests }: Upstream) => requests.filter(({ method }) => method === "POST");

  it("makes an image per seed, and each arrives as it was made", async () => {
    const server = await serve(drawing);
    const { images, warnings } = await drawn(opened(falAt(server.url)), {
      numImagesPerPrompt: 3,
      seed: 4294967295n,
    });
    expect(images.map(({ seed }) => seed)).toEqual([4294967295, 0, 1]);
    for (const { seed, data } of images) {
      expect(pixels(data)).toEqual(pixels(picture(64, 48, seed, "a red circle")));
    }
    expect(warnings).toEqual([]);
    expect(posts(server)).toHaveLength(3);
  });

  it("is asked for PNG, for what is configured, and for no default that nobody set", async () => {
    const server = await serve(drawing);
    const config = {
      models: [{ id: "m", task: "image", provider_options: { fal: { acceleration: "high" } } }],
      provider_options: { fal: { enableSafetyChecker: false, acceleration: "none" } },
    };
    const backend = opened(falAt(server.url, config));
    await drawn(backend);
    await drawn(backend, { numInferenceSteps: 4, guidanceScale: 3.5 });
    const [usual, tuned] = posts(server).map(({ body }) => JSON.parse(String(body)));
    expect(usual).toEqual({
      prompt: "a red circle",
      seed: 7,
      image_size: { width: 64, height: 48 },
      num_images: 1,
      output_format: "png",
      enable_safety_checker: false,
      acceleration: "high",
    });
    expect(tuned).toMatchObject({ num_inference_steps: 4, guidance_scale: 3.5 });
    expect(posts(server)[0]?.headers).toMatchObject({
      authorization: "Key fal-secret",
      "x-request-id": "req-contract",
    });
  });

  it("keeps its key to itself when its files are elsewhere", async () => {
    const files = await serve(drawing);
    const server = await serve(drawing);
    server.script((exchange) => {
      const { status, headers, body } = falAnswer(exchange);
      return exchange.send(status, headers, body.toString().replace(server.url, files.url));
    });
    const refused = await thrownBy(drawn(opened(falAt(server.url))));
    expect(refused.code).toBe("upstream_failed");
    expect(files.requests).toEqual([]);
    const backend = opened(falAt(server.url, { allow_hosts: [files.url] }));
    if (isNewest) {
      // It fetches nothing from the machine itself, whoever allows it.
      const { code, message } = await thrownBy(drawn(backend));
      expect([code, message]).toEqual([
        "upstream_failed",
        "the model server answered with an address from which its provider can't fetch",
      ]);
      expect(files.requests).toEqual([]);
      return;
    }
    expect((await drawn(backend)).images).toHaveLength(1);
    expect(files.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("may answer with the image itself as its address, which no redirect may be", async () => {
    const png = picture(64, 48, 7);
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const inline = opened(falAt((await serve((e) => e.sendJson(200, { images: [{ url }] }))).url));
    expect((await drawn(inline)).images.map(({ data }) => pixels(data))).toEqual([pixels(png)]);
    const redirecting = await serve((exchange) =>
      exchange.request.method === "POST"
        ? exchange.play(falAnswer(exchange))
        : exchange.send(302, { location: "data:image/png;base64,AAAA" }, ""),
    );
    expect((await thrownBy(drawn(opened(falAt(redirecting.url))))).message).toContain("fetched");
    const text = opened(
      falAt((await serve((e) => e.sendJson(200, { images: [{ url: "data:text/plain,a" }] }))).url),
    );
    expect((await thrownBy(drawn(text))).message).toContain("may not be fetched");
  });

  it.each(["http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:9/a.png"])(
    "does not lead us to %s",
    async (location) => {
      const server = await serve((exchange) =>
        exchange.request.method === "POST"
          ? exchange.play(falAnswer(exchange))
          : exchange.send(302, { location }, ""),
      );
      const error = await thrownBy(drawn(opened(falAt(server.url))));
      expect(error.message).toContain("may not be fetched");
    },
  );

  it("may redirect to its own files", async () => {
    const server = await serve((exchange) => {
      const { method, path } = exchange.request;
      return method === "GET" && !path.startsWith("/moved")
        ? exchange.send(302, { location: `/moved${path}` }, "")
        : drawing(exchange);
    });
    expect((await drawn(opened(falAt(server.url)))).images).toHaveLength(1);
  });

  it.each([
    ["has_nsfw_concepts", true],
    ["nsfw_content_detected", true],
    ["has_nsfw_concepts", false],
  ])("may have flagged an image: %s %s", async (member, flagged) => {
    const server = await serve((exchange) => {
      if (exchange.request.method === "GET") return drawing(exchange);
      const answer = { ...JSON.parse(falAnswer(exchange).body.toString()) };
      for (const name of ["has_nsfw_concepts", "nsfw_content_detected"]) delete answer[name];
      return exchange.sendJson(200, { ...answer, [member]: [flagged] });
    });
    const { images, warnings } = await drawn(opened(falAt(server.url)));
    const told =
      "safety_check: the vendor's own check flagged an image, and may have made it black";
    expect([images.length, warnings]).toEqual([1, flagged ? [told] : []]);
  });

  it("is left alone once one image of several has failed", async () => {
    let slow: Exchange | undefined;
    const server = await serve(async (exchange) => {
      if (exchange.json().seed === 7) {
        slow = exchange;
        await exchange.gone;
      } else if (slow) await exchange.sendJson(500, {});
      else {
        await server.received(2);
        await exchange.sendJson(500, {});
      }
    });
    const both = drawn(opened(falAt(server.url)), { numImagesPerPrompt: 2 });
    expect(await thrownBy(both)).toMatchObject({ code: "upstream_failed" });
    await slow?.gone;
  });
});

describe("a server that refuses sizes, by the provider for any of OpenAI's form", () => {
  const refusing: Script = (exchange) => {
    const { n, size } = exchange.json();
    if (size !== undefined) return exchange.play(fixture("xai/image-refuses-size"));
    const b64_json = picture(96, 96, 1).toString("base64");
    return exchange.sendJson(200, { data: Array(n).fill({ b64_json }) });
  };
  const against = async (script: Script) => {
    const server = await serve(script);
    const backend = opened(compatibleAt(server.url, { models: [{ id: "m", task: "image" }] }));
    const sizes = () => server.requests.map(({ body }) => JSON.parse(String(body)).size);
    return { backend, sizes };
  };
  const usual = { width: 1024, height: 576 };

  it("is asked without one where nobody asked for a size", async () => {
    const { backend, sizes } = await against(refusing);
    for (const _ of ["first", "second"]) {
      const { images, warnings } = await drawn(backend, { ...usual, seed: undefined });
      expect([images.length, warnings]).toEqual([1, []]);
    }
    expect(sizes()).toEqual(["1024x576", undefined, undefined]);
    expect(backend.models()[0]?.supports).toEqual(expect.arrayContaining(["width", "height"]));
  });

  it("is asked without the one that somebody asked for where the operator ignores that", async () => {
    const { backend, sizes } = await against(refusing);
    const size = { width: 1024, height: 1024, seed: undefined };
    const modelSettings = { name: "m", unsupported: "ignore" } as const;
    const { images, warnings } = await drawn(backend, size, { modelSettings });
    expect(images).toHaveLength(1);
    expect(warnings).toEqual(["size: not supported by this model, ignored"]);
    expect(sizes()).toEqual(["1024x1024", undefined]);
  });

  it("is asked with the size that somebody asked for, and the refusal names the width", async () => {
    const { backend, sizes } = await against(refusing);
    await drawn(backend, usual);
    const error = await thrownBy(drawn(backend, { width: 1024, height: 1024 }));
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "width" });
    expect(error.message).toContain("Argument not supported: size");
    expect(sizes().slice(2)).toEqual(["1024x1024"]);
  });

  it("fails as it refuses, where it refuses without a size, too", async () => {
    const { backend, sizes } = await against((e) => e.play(fixture("xai/image-refuses-size")));
    expect(await thrownBy(drawn(backend, usual))).toMatchObject({ code: "unsupported_parameter" });
    expect(sizes()).toEqual(["1024x576", undefined]);
  });
});

describe("a provider that ignores fields", () => {
  it("teaches the backend, which serves nobody something else than was asked for", async () => {
    const png = picture(64, 64, 1);
    const learned: string[] = [];
    const sizes: (string | undefined)[] = [];
    const ignoring = (supports: string[]) => ({
      model: {
        specificationVersion: "v3",
        provider: "p",
        modelId: "m",
        maxImagesPerCall: 4,
        async doGenerate({ size, n }) {
          sizes.push(size);
          const warnings = [{ type: "unsupported", feature: "size", details: "Use aspectRatio." }];
          const response = { timestamp: new Date(), modelId: "m", headers: {} };
          return { images: Array(n).fill(png), warnings: size ? warnings : [], response };
        },
      } as ImageModelV3,
      package: "some-provider",
      providerOptions: {},
      supports,
      refused: new Set<string>(),
      learn: (field: string) => void learned.push(field),
    });
    const run = async (more: object, supports = ["width", "height"], settings: object = {}) => {
      const call = { ...callOf("textToImage", imageRequest(more)), ...settings };
      for await (const _ of textToImage(ignoring(supports), call, never));
      return [...call.warnings];
    };
    expect(await thrownBy(run({ width: 512 }))).toMatchObject({
      code: "unsupported_parameter",
      param: "width",
    });
    expect(learned).toEqual(["width"]);
    expect(await run({}), "a default is not set").toEqual([]);
    const modelSettings = { name: "m", unsupported: "ignore" };
    expect(await run({ height: 512 }, undefined, { modelSettings })).toEqual([
      "height: not supported by this model, ignored",
    ]);
    expect(await run({ height: 512 }, [])).toEqual([]);
    expect(sizes).toEqual(["512x576", "1024x576", "1024x512", undefined]);
  });

  it("and one that says what it made of a size has not ignored it", async () => {
    // @ai-sdk/black-forest-labs 1 and 2, which send width and height besides.
    const details = "Deriving aspect_ratio from size. Use the width and height provider options.";
    const learned: string[] = [];
    const call = callOf("textToImage", imageRequest({ width: 1024, height: 768 }));
    const running = textToImage(
      {
        model: {
          async doGenerate() {
            const warnings = [{ type: "unsupported", feature: "size", details }];
            return { images: [picture(1024, 768, 1)], warnings, response: {} };
          },
        } as unknown as ImageModelV3,
        package: "@ai-sdk/black-forest-labs",
        providerOptions: {},
        supports: ["width", "height"],
        refused: new Set(),
        learn: (field: string) => void learned.push(field),
      },
      call,
      never,
    );
    for await (const [message] of running) expect(message?.images).toHaveLength(1);
    expect(learned).toEqual([]);
    expect([...call.warnings]).toEqual([`width, height: ${details}`]);
  });

  it("does not list them any more", async () => {
    const b64_json = picture(64, 48, 1).toString("base64");
    const server = await serve((exchange) => exchange.sendJson(200, { data: [{ b64_json }] }));
    const backend = opened(
      aiSdkBackend({
        package: "@ai-sdk/openai",
        options: { apiKey: "sk-secret", baseURL: server.url },
        models: [{ id: "m", task: "image", supports: ["width", "height", "seed"] }],
      }),
    );
    const { images, warnings } = await drawn(backend);
    expect(warnings).toEqual([]);
    expect(images.map(({ seed }) => seed)).toEqual([noSeed]);
    expect(backend.models()[0]?.supports).toEqual(["width", "height"]);
  });
});
