/** What a node leaves to the gateway in front of it: how much may be asked for, and for how long. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type LLMRequest, LLMRequestSchema } from "../../gen/lintel/v1/chat_pb.js";
import { silent } from "../../src/core/log.js";
import type { Bounds } from "../../src/core/settings.js";
import { startNode } from "../../src/node.js";
import type { NodeSettings } from "../../src/node-settings.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { file, tiny } from "./llama-subject.js";
import { connectTo } from "./node-peer.js";
import { requestOf } from "./onnx/support.js";

const port = { host: "127.0.0.1", port: 0 };

/** A node's backend, as its gateway has it. */
async function backendOf(settings: Pick<NodeSettings, "models"> & Partial<NodeSettings>) {
  const node = await startNode({ listen: port, threads: 1, log: silent, ...settings });
  onTestFinished(() => node.close(0));
  return connectTo(node.url, { token: "any" });
}

const chat = { messages: [{ role: "user", content: "hello" }], maxTokens: 1 };

describe("how large a request may be", () => {
  /** What is said to a caller's message of so many bytes, of which the model has room for 128 tokens. */
  async function answered(bytes: number, bodyLimit?: number) {
    const gateway = coreOf([await backendOf({ models: [tiny], bodyLimit })]);
    return (await outcome(gateway, "complete", messageOf(bytes))).code;
  }

  /** A request that has so many bytes in protobuf's binary form. */
  function messageOf(bytes: number): LLMRequest {
    const request = (content: string) =>
      create(LLMRequestSchema, { messages: [{ role: "user", content }] });
    const most = "a".repeat(bytes);
    const over = toBinary(LLMRequestSchema, request(most)).length - bytes;
    return request(most.slice(over));
  }

  test("what a gateway takes, with what that one adds, and no more", async () => {
    expect(await answered(1024 * 1024)).toBe("invalid_value");
    expect(await answered(1024 * 1024 + 5000)).toBe("too_large");
  });

  test("more, where the operator says so", async () => {
    const bodyLimit = 2 * 1024 * 1024;
    expect(await answered(bodyLimit, bodyLimit)).toBe("invalid_value");
    expect(await answered(bodyLimit + 5000, bodyLimit)).toBe("too_large");
  });
});

describe("bounds that the gateway's operator has widened", () => {
  const bounds: Bounds = {
    temperature: { max: 5 },
    frequency_penalty: { min: -5, max: 5 },
    presence_penalty: { max: 5 },
    repetition_penalty: { max: 5 },
    logit_bias: { max: 2000 },
    width: { min: 32, max: 4096 },
    guidance_scale: { max: 60 },
    num_images_per_prompt: { max: 9 },
    loras: { max: 5 },
  };
  const wider = {
    guidanceScale: 50,
    numImagesPerPrompt: 9,
    width: 32,
    prompt: "a <lora:x:1> tag",
  };
  const draw = { modelId: "lintel-image", width: 64, height: 64, numInferenceSteps: 1 };
  const pictures = (listen: NodeSettings["listen"] = port) =>
    backendOf({ models: [file("models/image/lintel-image")], listen });

  test("hold for chat", async () => {
    const gateway = coreOf([await backendOf({ models: [tiny] })], { bounds });
    const penalties = { frequencyPenalty: -5, presencePenalty: 5, repetitionPenalty: 5 };
    const asked = { ...chat, temperature: 5, ...penalties };
    expect((await outcome(gateway, "complete", asked)).code).toBe("ok");
    expect((await outcome(gateway, "complete", { ...chat, temperature: 6 })).code).toBe(
      "invalid_fields",
    );
  });

  test("hold for biases of tokens: what it has not of them is the model's to say", async () => {
    const gateway = coreOf([await backendOf({ models: [tiny] })], { bounds });
    const logitBias = Object.fromEntries(Array.from({ length: 1500 }, (_, id) => [id, 1]));
    const { error } = await outcome(gateway, "complete", { ...chat, logitBias });
    expect(error?.message).toMatch(/^logit_bias\["\d+"\]: its key must be .* for this model$/);
  });

  test("hold for images, and tags in prompts are defused once", async () => {
    const gateway = coreOf([await pictures()], { bounds });
    const request = requestOf({ ...draw, ...wider });
    const { code, messages, warnings } = await outcome(gateway, "textToImage", request);
    expect(code).toBe("ok");
    expect(messages[0]?.images).toHaveLength(9);
    expect(warnings.filter((line) => line.startsWith("loras:"))).toHaveLength(1);
    const loras = JSON.stringify(Object.fromEntries(["a", "b", "c", "d", "e"].map((x) => [x, 1])));
    const { error } = await outcome(gateway, "textToImage", requestOf({ ...draw, loras }));
    expect(error?.message).not.toContain("at most 4");
  });

  test("a hundred images of a prompt, which wait in memory for the last, and no more on a port", async () => {
    const many = { num_images_per_prompt: { max: 1000 } };
    const request = requestOf({ ...draw, numImagesPerPrompt: 101 });
    const gateway = coreOf([await pictures()], { bounds: many });
    const { error } = await outcome(gateway, "textToImage", request);
    expect(error).toMatchObject({ code: "invalid_fields", param: "num_images_per_prompt" });
  });

  test("larger sides than the contract's are for the gateway's own node", async () => {
    const request = requestOf({ ...draw, width: 2056 });
    const refused = await outcome(coreOf([await pictures()], { bounds }), "textToImage", request);
    expect(refused.error).toMatchObject({ code: "invalid_fields", param: "width" });
    const folder = await mkdtemp(join(tmpdir(), "lintel-test-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const own = await pictures({ path: join(folder, "node.sock") });
    expect((await outcome(coreOf([own], { bounds }), "textToImage", request)).code).toBe("ok");
  });
});

test("how tokens are chosen reaches a node, and what its operator says is told by it, and counts else", async () => {
  const sampling = { presence_penalty: 2 };
  const plain = await backendOf({ models: [tiny] });
  const own = await backendOf({ models: [tiny], chat: sampling });
  const told = async (backend: typeof plain, more: object = {}) => {
    const request = { ...chat, temperature: 0, maxTokens: 64, ...more };
    const { messages } = await outcome(coreOf([backend]), "complete", request);
    return messages[0]?.choices[0]?.message?.content;
  };
  const penalized = await told(plain, { presencePenalty: 2 });
  expect(penalized).not.toBe(await told(plain));
  expect(await told(own)).toBe(penalized);
  expect(await told(own, { presencePenalty: 1e-9 })).toBe(await told(plain));
  // Beside what its size makes of others, once it is loaded.
  expect(own.models()[0]?.defaults).toMatchObject(sampling);
});

test("a call takes as long as the gateway's operator lets it", async () => {
  const totalTimeoutMs = 1_234_567;
  const gateway = coreOf([await backendOf({ models: [tiny] })], { totalTimeoutMs });
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => timers.mockRestore());
  expect((await outcome(gateway, "complete", chat)).code).toBe("ok");
  // The call's own, and what is left of it when the node is asked: as its client counts it, and as the node does.
  const left = timers.mock.calls.map(([, ms = 0]) => ms).filter((ms) => ms <= totalTimeoutMs);
  expect(left.filter((ms) => ms > totalTimeoutMs - 60_000)).toHaveLength(3);
});
