/** Penalties, `min_p` and `verbosity` before servers of OpenAI's form. */
import { describe, expect, it } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { never } from "../support/calls.js";
import { against, chat } from "./openai-calls.js";
import { type backendFor, chatRequest, echo } from "./openai-subject.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const names = [
  ...["frequency_penalty", "presence_penalty", "repetition_penalty"],
  ...["min_p", "verbosity"],
];
const everything: Partial<LLMRequest> = {
  ...{ frequencyPenalty: 0.5, presencePenalty: -0.25, repetitionPenalty: 1.5 },
  ...{ minP: 0.05, verbosity: "low" },
};
const penalties = { frequency_penalty: 0.5, presence_penalty: -0.25 };

/** What a body has of these, by whatever name. */
const saidIn = (body: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(body).filter(([name]) => names.includes(name) || name === "repeat_penalty"),
  );

/** What a backend's model supports of these. */
const supported = (backend: ReturnType<typeof backendFor>) =>
  backend.models()[0]?.supports.filter((field) => names.includes(field));

describe("the body", () => {
  it.each([
    ["auto", { ...penalties, repetition_penalty: 1.5, min_p: 0.05, verbosity: "low" }, names],
    ["openai", { ...penalties, verbosity: "low" }, [...names.slice(0, 2), "verbosity"]],
    ["openrouter", { ...penalties, repetition_penalty: 1.5, min_p: 0.05, verbosity: "low" }, names],
    ["vllm", { ...penalties, repetition_penalty: 1.5, min_p: 0.05 }, names.slice(0, 4)],
    ["sglang", { ...penalties, repetition_penalty: 1.5, min_p: 0.05 }, names.slice(0, 4)],
    ["together", { ...penalties, repetition_penalty: 1.5, min_p: 0.05 }, names.slice(0, 4)],
    ["llamacpp", { ...penalties, repeat_penalty: 1.5, min_p: 0.05 }, names.slice(0, 4)],
    ["localai", { ...penalties, repeat_penalty: 1.5, min_p: 0.05 }, names.slice(0, 4)],
    ["lmstudio", { ...penalties, repeat_penalty: 1.5 }, names.slice(0, 3)],
    ["ollama", penalties, names.slice(0, 2)],
    ["xai", penalties, names.slice(0, 2)],
    ["google", penalties, names.slice(0, 2)],
    ["zai", {}, []],
    ["siliconflow", { frequency_penalty: 0.5, min_p: 0.05 }, ["frequency_penalty", "min_p"]],
    [
      "dashscope",
      { presence_penalty: -0.25, repetition_penalty: 1.5 },
      ["presence_penalty", "repetition_penalty"],
    ],
    // It adds 2 to its presence penalty, and takes that for the factor.
    [
      "tgi",
      { frequency_penalty: 0.5, presence_penalty: -0.5 },
      ["frequency_penalty", "repetition_penalty"],
    ],
  ])("in the dialect %s has what that server knows, by its names", async (dialect, own, fields) => {
    const server = await against(echo, { dialect });
    await chat(server, everything);
    expect(saidIn(server.bodies()[0])).toEqual(own);
    expect(supported(server.backend)).toEqual(fields);
  });

  it.each(["auto", "openai", "llamacpp", "tgi"])(
    "in the dialect %s has no defaults",
    async (dialect) => {
      const server = await against(echo, { dialect });
      const defaults = { frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, minP: 0 };
      await chat(server, defaults);
      expect(saidIn(server.bodies()[0])).toEqual({});
    },
  );
});

describe("a bias of tokens", () => {
  const logitBias = { 50256: -100, 15: 2.5 };
  const knows = (backend: ReturnType<typeof backendFor>) =>
    backend.models()[0]?.supports.includes("logit_bias");

  it.each(["auto", "openai", "openrouter", "vllm", "sglang", "llamacpp", "localai", "lmstudio"])(
    "reaches a server in the dialect %s",
    async (dialect) => {
      const server = await against(echo, { dialect });
      await chat(server, { logitBias });
      expect(server.bodies()[0].logit_bias).toEqual(logitBias);
      expect(knows(server.backend)).toBe(true);
    },
  );

  it.each(["ollama", "tgi", "siliconflow", "deepinfra", "google", "xai", "zai", "venice"])(
    "is nothing that the dialect %s knows",
    async (dialect) => {
      const server = await against(echo, { dialect });
      await chat(server, { logitBias });
      expect(server.bodies()[0]).not.toHaveProperty("logit_bias");
      expect(knows(server.backend)).toBe(false);
    },
  );

  it("that changes nothing is not sent", async () => {
    const server = await against(echo);
    const nothing: LLMRequest["logitBias"][] = [{}, { 5: 0 }];
    for (const none of nothing) await chat(server, { logitBias: none });
    for (const body of server.bodies()) expect(body).not.toHaveProperty("logit_bias");
  });

  it.each([
    [
      "OpenAI's models that think",
      {
        message: "Unsupported parameter: 'logit_bias' is not supported with this model.",
        param: "logit_bias",
      },
    ],
    ["Groq", { message: "property 'logit_bias' is unsupported" }],
    ["others", { message: "logit_bias is not supported on this server" }],
  ])(
    "that is refused, by %s, is left out with a warning, and known from then on",
    async (_, error) => {
      const server = await against((exchange) =>
        "logit_bias" in exchange.json() ? exchange.sendJson(400, { error }) : echo(exchange),
      );
      const call = await chat(server, { logitBias });
      expect([...call.warnings]).toEqual(["logit_bias: not supported by this model, ignored"]);
      expect(knows(server.backend)).toBe(false);
    },
  );

  it("of a token that the model has not is the caller's to hear of", async () => {
    const message = "Invalid key in 'logit_bias': 100265. Maximum value is 100257.";
    const server = await against((exchange) =>
      exchange.sendJson(400, { error: { message, param: "logit_bias" } }),
    );
    await expect(chat(server, { logitBias })).rejects.toMatchObject({
      code: "invalid_value",
      message: expect.stringContaining(message),
    });
    expect(server.bodies()).toHaveLength(1);
    expect(knows(server.backend)).toBe(true);
  });
});

describe("OpenRouter's list", () => {
  it.each([
    ["supported_parameters", ["temperature", "min_p", "verbosity"], ["min_p", "verbosity"]],
    ["supported_parameters", [], []],
    ["other_parameters", ["min_p"], names],
  ])("with %s of %j", async (member, listed, expected) => {
    const server = await against(
      (exchange) =>
        exchange.sendJson(200, { object: "list", data: [{ id: "m", [member]: listed }] }),
      { dialect: "openrouter", models: undefined },
    );
    await server.backend.ready?.("m", never);
    expect(supported(server.backend)).toEqual(expected);
    // Of what others say nothing is known to be all.
    expect(server.backend.models()[0]?.supports).toContain("seed");
  });
});

describe("refusals", () => {
  const refusing =
    (field: string, status: number, body: object): Script =>
    (exchange) =>
      field in exchange.json() ? exchange.sendJson(status, body) : echo(exchange);
  const said = (message: string, more: object = {}) => ({ error: { message, ...more } });

  it.each([
    [
      "OpenAI's reasoning models",
      "frequency_penalty",
      400,
      said("Unsupported parameter: 'frequency_penalty' is not supported with this model."),
    ],
    [
      "xAI's reasoning models",
      "presence_penalty",
      400,
      {
        code: "Client specified an invalid argument",
        error: "Argument not supported on this model: presencePenalty",
      },
    ],
    [
      "xAI's newer ones",
      "frequency_penalty",
      400,
      {
        code: "x",
        error: "Model grok-4-1-fast-reasoning does not support parameter frequencyPenalty.",
      },
    ],
    ["Gemini", "frequency_penalty", 400, said("Penalty is not enabled for this model")],
    [
      "Mistral",
      "min_p",
      422,
      {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "min_p"],
            msg: "Extra inputs are not permitted",
          },
        ],
      },
    ],
    ["Groq", "repetition_penalty", 400, said("property 'repetition_penalty' is unsupported")],
    ["Azure", "verbosity", 400, said("Unrecognized request argument supplied: verbosity")],
    [
      "OpenAI's older models",
      "verbosity",
      400,
      said(
        "Unsupported value: 'verbosity' does not support 'low' with this model. Supported values are: 'medium'.",
        { param: "verbosity", code: "unsupported_value" },
      ),
    ],
  ])("of %s are told and remembered", async (_, field, status, body) => {
    const server = await against(refusing(field, status, body));
    const call = await chat(server, everything);
    expect([...call.warnings]).toEqual([`${field}: not supported by this model, ignored`]);
    expect(server.bodies()).toHaveLength(2);
    const rest = names.filter((name) => name !== field);
    expect(Object.keys(saidIn(server.bodies()[1])).toSorted()).toEqual(rest.toSorted());
    expect(supported(server.backend)).toEqual(rest);
    await chat(server, everything);
    expect(server.bodies()).toHaveLength(3);
  });

  it("that name no penalty are of those that are there", async () => {
    const server = await against((exchange) =>
      Object.keys(exchange.json()).some((name) => name.endsWith("_penalty"))
        ? exchange.sendJson(400, said("Penalty is not enabled for this model"))
        : echo(exchange),
    );
    const call = await chat(server, { presencePenalty: 1 });
    expect([...call.warnings]).toEqual(["presence_penalty: not supported by this model, ignored"]);
    expect(server.bodies()).toHaveLength(2);
    const other = await chat(server, { frequencyPenalty: 1, presencePenalty: 1 });
    expect([...other.warnings]).toEqual([
      "frequency_penalty: not supported by this model, ignored",
    ]);
  });

  it("of a caller's value cost others nothing", async () => {
    const message = "presence_penalty must be between 0 and 1";
    const server = await against((exchange) =>
      (exchange.json().presence_penalty ?? 0) < 0
        ? exchange.sendJson(400, said(message, { code: "unsupported_value" }))
        : echo(exchange),
    );
    await chat(server, { presencePenalty: -1 });
    await chat(server, { presencePenalty: 1 });
    expect(server.bodies().map((body) => body.presence_penalty)).toEqual([-1, undefined, 1]);
  });

  it("of what the operator chose, or clients send unasked, are not told", async () => {
    const server = await against((exchange) => {
      const unknown = names.find((name) => name in exchange.json());
      return unknown ? exchange.sendJson(400, said(`Unknown field: ${unknown}`)) : echo(exchange);
    });
    const call = callOf(
      "chat",
      chatRequest({ minP: 0.05, repetitionPenalty: 1.1, verbosity: "medium" }),
    );
    const defaults = { min_p: 0.05, repetition_penalty: 1.1 };
    Object.assign(call, { modelSettings: { name: "m", defaults } });
    for await (const _ of server.backend.handlers.chat?.(call) ?? []);
    expect([...call.warnings]).toEqual([]);
    expect(supported(server.backend)).toEqual(["frequency_penalty", "presence_penalty"]);
  });
});
