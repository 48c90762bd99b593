/** What the openai backend sends. */
import { describe, expect, it } from "vitest";
import { addressOf } from "../../src/backends/openai/address.js";
import { dialectOf } from "../../src/backends/openai/dialects.js";
import { version } from "../../src/version.js";
import { never } from "../support/calls.js";
import { say } from "../support/messages.js";
import { against, chat, complete } from "./openai-calls.js";
import { echo } from "./openai-subject.js";

const message = { role: "user", content: "hello" };
const everything = { temperature: 0.1, topP: 0.5, topK: 40, maxTokens: 9, seed: 7n, stop: ["."] };

const penalties = ["frequency_penalty", "presence_penalty"];
const open = [...penalties, "repetition_penalty", "min_p"];
const servers = [...open, "logit_bias"];
/** What else the models of a dialect know of how tokens are chosen, where that is not what most servers do. */
const sampling: Readonly<Record<string, readonly string[]>> = {
  auto: [...open, "verbosity", "service_tier", "logit_bias"],
  openai: [...penalties, "verbosity", "service_tier", "logit_bias"],
  lmstudio: [...penalties, "repetition_penalty", "logit_bias"],
  ollama: penalties,
  tgi: ["frequency_penalty", "repetition_penalty"],
};

const textForms = ["choice", "regex", "grammar"];
/** And of how an answer may be held to a text. */
const forms: Readonly<Record<string, readonly string[]>> = {
  ...{ vllm: textForms, sglang: textForms, llamacpp: textForms },
  tgi: ["choice", "regex"],
};

describe("the body", () => {
  it("of a stream asks for usage", async () => {
    const server = await against(echo);
    await chat(server);
    expect(server.bodies()).toEqual([
      {
        model: "m",
        messages: [message],
        temperature: 0.7,
        top_p: 1,
        max_tokens: 256,
        stream: true,
        stream_options: { include_usage: true },
      },
    ]);
  });

  it("of a whole answer does not", async () => {
    const server = await against(echo);
    await complete(server);
    expect(server.bodies()[0]).toMatchObject({ stream: false });
    expect(server.bodies()[0]).not.toHaveProperty("stream_options");
  });

  it.each([
    ["auto", { top_k: 40, max_tokens: 9 }],
    ["vllm", { top_k: 40, max_tokens: 9 }],
    ["sglang", { top_k: 40, max_tokens: 9 }],
    ["llamacpp", { top_k: 40, max_tokens: 9 }],
    ["lmstudio", { top_k: 40, max_tokens: 9 }],
    ["ollama", { max_tokens: 9 }],
    ["tgi", { max_tokens: 9 }],
    ["openai", { max_completion_tokens: 9 }],
  ])("in the dialect %s has every field that it takes, and no other", async (dialect, own) => {
    const server = await against(echo, { dialect });
    await complete(server, everything);
    const common = { temperature: 0.1, top_p: 0.5, seed: 7, stop: ["."], stream: false };
    expect(server.bodies()).toEqual([{ model: "m", messages: [message], ...common, ...own }]);
    const supports = [
      ...["temperature", "max_tokens", "top_p", "top_k", "seed", "stop"],
      ...["tools", "tool_choice", "parallel_tool_calls", "response_format", "image_url"],
      ...["input_audio", "reasoning_effort"],
      ...(sampling[dialect] ?? servers),
      // Nobody knows what stands behind a server that nobody knows.
      ...(["auto", "openai"].includes(dialect) ? ["file"] : []),
      ...(["auto", "vllm"].includes(dialect) ? ["modalities", "image_config"] : []),
      ...(forms[dialect] ?? []),
      ...(dialect === "lmstudio" ? [] : ["logprobs", "top_logprobs"]),
    ];
    expect(server.backend.models()[0]?.supports).toEqual(
      supports.filter((field) => field !== "top_k" || "top_k" in own),
    );
  });

  it.each([-1, 0])("has no top_k of %i", async (topK) => {
    const server = await against(echo);
    await complete(server, { topK });
    expect(server.bodies()[0]).not.toHaveProperty("top_k");
  });

  it.each([
    ["vllm", 4294967295],
    ["llamacpp", 4294967294],
    ["ollama", 4294967294],
  ])("has a seed in the dialect %s that is not taken for a random one", async (dialect, seed) => {
    const server = await against(echo, { dialect });
    await complete(server, { seed: 4294967295n });
    expect(server.bodies()[0]).toMatchObject({ seed });
  });

  it("has no seed of -1", async () => {
    const server = await against(echo);
    await complete(server, { seed: -1n });
    expect(server.bodies()[0]).not.toHaveProperty("seed");
  });

  it("keeps to the cap of the backend, which its models tell", async () => {
    const server = await against(echo, { max_tokens: 100 });
    await complete(server, { maxTokens: 256 });
    await complete(server, { maxTokens: 50 });
    expect(server.bodies().map((body) => body.max_tokens)).toEqual([100, 50]);
    expect(server.backend.models()[0]?.maxTokens).toBe(100);
  });

  it.each([
    ["vllm", "system"],
    ["openai", "developer"],
  ])("in the dialect %s writes the role developer as %s", async (dialect, role) => {
    const server = await against(echo, { dialect });
    const messages = [say("developer", "")];
    await complete(server, { messages });
    expect(server.bodies()[0].messages[0].role).toBe(role);
  });

  it.each(["vllm", "openai"])(
    "in the dialect %s has what a tool said without a call as the user's",
    async (dialect) => {
      const server = await against(echo, { dialect });
      const messages = ["user", "assistant", "tool"].map((role) => say(role, "42"));
      await complete(server, { messages });
      const sent = ["user", "assistant", "user"].map((role) => ({ role, content: "42" }));
      expect(server.bodies()[0].messages).toEqual(sent);
    },
  );
});

describe("the head", () => {
  it("has the key and the headers of the configuration", async () => {
    const config = { api_key: "sk-1", headers: { "X-Team": "a" } };
    const server = await against(echo, config);
    await complete(server);
    expect(server.upstream.requests[0]?.headers).toMatchObject({
      authorization: "Bearer sk-1",
      "x-team": "a",
      "content-type": "application/json",
    });
    expect(server.upstream.requests[0]?.headers).not.toHaveProperty("accept-encoding");
  });

  it("has a header of the configuration in place of the key", async () => {
    const config = { api_key: "sk-1", headers: { Authorization: "Basic eA==" } };
    const server = await against(echo, config);
    await complete(server);
    expect(server.upstream.requests[0]?.headers.authorization).toBe("Basic eA==");
  });

  it("says who asks, of models, too, unless the configuration says it", async () => {
    const server = await against(echo);
    await complete(server);
    await server.backend.health?.(never);
    const named = await against(echo, { headers: { "User-Agent": "ours/1" } });
    await complete(named);
    const agents = [...server.upstream.requests, ...named.upstream.requests].map(
      ({ headers }) => headers["user-agent"],
    );
    expect(agents).toEqual([`lintel/${version()}`, `lintel/${version()}`, "ours/1"]);
  });

  it("has no authorization without a key", async () => {
    const server = await against(echo);
    await complete(server);
    expect(server.upstream.requests[0]?.headers).not.toHaveProperty("authorization");
  });
});

describe("the address", () => {
  it.each([
    ["http://h:8000", "/v1/chat/completions"],
    ["http://h:8000/", "/v1/chat/completions"],
    ["http://h:8000/v1", "/v1/chat/completions"],
    ["http://h:8000/v1/", "/v1/chat/completions"],
    ["http://h/v1/chat/completions", "/v1/chat/completions"],
    ["http://h/v1/models/", "/v1/chat/completions"],
    ["https://h/chat/completions", "/chat/completions"],
    ["https://h/chat/completions/?api-version=2025", "/chat/completions?api-version=2025"],
    ["https://h/openai/v1", "/openai/v1/chat/completions"],
    ["https://h/api", "/api/chat/completions"],
    ["https://h/d/gpt?api-version=2025", "/d/gpt/chat/completions?api-version=2025"],
  ])("of %s", (url, path) => {
    expect(addressOf(url).at("/chat/completions")).toBe(path);
    expect(addressOf(url).origin).toBe(new URL(url).origin);
  });

  it.each([
    ["https://api.openai.com/v1", undefined, "max_completion_tokens", false],
    ["https://api.openai.com.evil.example", undefined, "max_tokens", true],
    ["http://h", undefined, "max_tokens", true],
    ["http://h", "library", "max_tokens", false],
    ["http://h", "bartowski library", "max_tokens", false],
    ["http://h", "m0", "max_tokens", false],
    ["http://h", "m0 m1", "max_tokens", true],
    ["http://h", "vllm", "max_tokens", true],
    ["http://h", "constructor", "max_tokens", true],
  ])("of %s, whose models are of %s, tells the dialect", (url, owners, maxTokens, topK) => {
    const listed = owners?.split(" ").map((ownedBy, i) => ({ id: `m${i}`, created: 0, ownedBy }));
    expect(dialectOf("auto", new URL(url), listed)).toMatchObject({ maxTokens, topK });
  });
});

it("stable-diffusion.cpp is told by its model's name: many have its owner", () => {
  const of = (id: string) =>
    dialectOf("auto", new URL("http://h"), [{ id, created: 0, ownedBy: "local" }]).images;
  expect(of("sd-cpp-local")).toBe("sdcpp");
  expect(of("Qwen/Qwen-Image")).not.toBe("sdcpp");
  expect(of("Qwen/Qwen-Image")).toBe(dialectOf("auto", new URL("http://h")).images);
});
