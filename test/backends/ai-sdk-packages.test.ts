import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImageModelV3 } from "@ai-sdk/provider";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { State } from "../../gen/lintel/v1/models_pb.js";
import { failureOf } from "../../src/backends/ai-sdk/failure.js";
import { textToImage } from "../../src/backends/ai-sdk/images.js";
import { aiSdkSchema } from "../../src/backends/ai-sdk/schema.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { never } from "../support/calls.js";
import { thrownBy } from "./ai-sdk-calls.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { imageRequest, picture } from "./picture.js";
import { opened } from "./serve.js";
import { callOf } from "./subject.js";

afterEach(() => void vi.restoreAllMocks());

describe("a package", () => {
  const stateOf = async (config: object) => {
    const said: [string, string | undefined][] = [];
    const error = ({ err }: { err?: Error }, message: string) =>
      void said.push([message, err?.message]);
    const log = { ...silent, error };
    const backend = opened(aiSdkBackend({ models: [{ id: "m" }], ...config }, log));
    await backend.ready?.("m", never).catch(() => {});
    const { state, stateDetail } = backend.models()[0] ?? {};
    expect(state).toBe(State.FAILED);
    expect(said).toEqual([["the provider can't be used", stateDetail]]);
    // Nothing changes it before a restart.
    expect(await thrownBy(backend.health(never))).toMatchObject({
      message: stateDetail,
      retry: "elsewhere",
    });
    return stateDetail;
  };

  it("that is not installed says how to", async () => {
    expect(await stateOf({ package: "@ai-sdk/no-such-provider" })).toBe(
      "the package @ai-sdk/no-such-provider is not installed: npm install @ai-sdk/no-such-provider",
    );
    expect(await stateOf({ package: "@ai-sdk/no-such-provider/part" })).toMatch(
      /npm install @ai-sdk\/no-such-provider$/,
    );
  });

  it("that is no provider, or has no such models, says so", async () => {
    expect(await stateOf({ package: "pngjs" })).toContain("no create function");
    expect(await stateOf({ package: "fastify", export: "nothing" })).toContain(
      "no function nothing",
    );
    expect(await stateOf({ package: "@ai-sdk/fal", options: { apiKey: "k" } })).toContain(
      "no such chat model",
    );
  });
});

/** A folder with packages, from which Lintel was started. */
const started = (packages: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), "lintel-packages-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, code] of Object.entries(packages)) {
    const path = join(folder, "node_modules", name);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "index.js"), code);
  }
  vi.spyOn(process, "cwd").mockReturnValue(folder);
};

describe("a package with several create functions", () => {
  const create = "() => ({ languageModel: () => ({ specificationVersion: 'v4' }) })";

  const ready = async (config: object) => {
    const backend = opened(aiSdkBackend({ models: [{ id: "m" }], ...config }));
    await backend.ready?.("m", never);
    return backend.models()[0]?.state;
  };

  it("that are one, by its former name too, needs no export", async () => {
    started({ "renamed-provider": `exports.createNew = exports.createOld = ${create};` });
    expect(await ready({ package: "renamed-provider" })).toBe(State.READY);
  });

  it("that differ says that one must be chosen", async () => {
    started({ "two-providers": `exports.createA = ${create}; exports.createB = ${create};` });
    const error = await thrownBy(ready({ package: "two-providers" }));
    expect(error.message).toContain("set export to one of createA, createB");
    expect(await ready({ package: "two-providers", export: "createB" })).toBe(State.READY);
  });
});

it("a package that finds no key for its model says so, not that it has no such model", async () => {
  const code = `exports.createKeyless = () => ({
    imageModel() {
      throw Object.assign(new Error("no key"), { [Symbol.for("vercel.ai.error.AI_LoadAPIKeyError")]: true });
    },
  });`;
  started({ "keyless-provider": code });
  const models = [{ id: "m", task: "image" }];
  const backend = opened(aiSdkBackend({ package: "keyless-provider", models }));
  const error = await thrownBy(Promise.resolve(backend.ready?.("m", never)));
  expect(error).toMatchObject({ code: "unavailable", retry: "elsewhere" });
  expect(error.message).toBe("the model server's credentials are not configured");
});

describe("a package whose options have a former and a newer key", () => {
  const png = picture(64, 64, 1);
  /** What the package is given, which takes the options of one key only. */
  const given = async (name: string, providerOptions: Record<string, Record<string, unknown>>) => {
    let options: unknown;
    const model = {
      modelId: "imagen-4.0-generate-001",
      async doGenerate(asked: { providerOptions: unknown }) {
        options = asked.providerOptions;
        return { images: [png], warnings: [], response: {} };
      },
    } as unknown as ImageModelV3;
    const call = callOf("textToImage", imageRequest({ negativePrompt: "a dog" }));
    const known = {
      model,
      package: name,
      providerOptions,
      refused: new Set<string>(),
      supports: [],
      learn() {},
    };
    for await (const _ of textToImage(known, call, never));
    return options;
  };

  it.each([
    ["@ai-sdk/amazon-bedrock", "bedrock", "amazonBedrock", "negativeText"],
    ["@ai-sdk/google-vertex", "vertex", "googleVertex", "negativePrompt"],
  ])("%s is given the caller's and the operator's by both", async (name, former, newer, field) => {
    const own = { [field]: "a dog" };
    expect(await given(name, {})).toEqual({ [former]: own, [newer]: own });
    for (const key of [former, newer]) {
      const both = { ...own, quality: "high" };
      expect(await given(name, { [key]: { quality: "high" }, other: { a: 1 } }), key).toEqual({
        [former]: both,
        [newer]: both,
        other: { a: 1 },
      });
    }
    const mine = { [former]: { [field]: "a cat", a: 1 }, [newer]: { a: 2 } };
    const all = { [field]: "a cat", a: 2 };
    expect(await given(name, mine)).toEqual({ [former]: all, [newer]: all });
  });
});

describe("errors of providers", () => {
  it("come out as Lintel's, whatever they are", () => {
    const marked = (name: string, more: object = {}) =>
      Object.assign(new Error("said"), { [Symbol.for(`vercel.ai.error.${name}`)]: true }, more);
    const own = new LintelError("upstream_failed", "guarded");
    for (const [thrown, code] of [
      [marked("AI_UnsupportedFunctionalityError"), "invalid_value"],
      [marked("AI_InvalidPromptError"), "invalid_value"],
      [marked("AI_LoadAPIKeyError"), "unavailable"],
      [marked("AI_APICallError", { statusCode: 200 }), "upstream_failed"],
      [marked("AI_APICallError", { statusCode: 503 }), "unavailable"],
      [marked("AI_APICallError"), "upstream_unreachable"],
      [
        marked("AI_APICallError", { cause: { code: "UND_ERR_HEADERS_TIMEOUT" } }),
        "upstream_unreachable",
      ],
      [Object.assign(new Error("x"), { code: "ECONNRESET" }), "upstream_unreachable"],
      [Object.assign(new Error("x"), { code: "EAI_AGAIN" }), "upstream_unreachable"],
      [
        Object.assign(new Error("x"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" }),
        "upstream_unreachable",
      ],
      // A mistake of the provider's, not of the network's.
      [Object.assign(new TypeError("x"), { code: "ERR_INVALID_URL" }), "upstream_failed"],
      [new Error("fetch failed", { cause: own }), "upstream_failed"],
      [{ type: "overloaded_error", message: "Overloaded" }, "unavailable"],
      [{ type: "rate_limit_error", message: "slow" }, "rate_limited"],
      ["something", "upstream_failed"],
      [undefined, "upstream_failed"],
    ] as const) {
      expect(failureOf(thrown)).toMatchObject({ code });
    }
    // To ask again brings no key.
    expect(failureOf(marked("AI_LoadAPIKeyError")).retry).toBe("elsewhere");
  });
});

describe("the entry", () => {
  it("is checked", () => {
    const entry = (more: object) =>
      aiSdkSchema.safeParse({
        type: "ai-sdk",
        name: "a",
        package: "p",
        models: [{ id: "m" }],
        ...more,
      }).success;
    expect(entry({})).toBe(true);
    expect(entry({ options: { region: "eu-central-1", nested: { a: 1 } } })).toBe(true);
    expect(entry({ models: [] })).toBe(false);
    expect(entry({ package: "../file.js" })).toBe(false);
    expect(entry({ package: "/etc/x.js" })).toBe(false);
    expect(entry({ models: [{ id: "m", supports: ["sized"] }] })).toBe(false);
    expect(entry({ allow_hosts: ["https://*"] })).toBe(false);
  });
});
