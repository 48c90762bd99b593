/** What model servers are told of whom a call is for. */
import { createHash } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { optionalFields } from "../../src/backends/completions/refusals/asking.js";
import { refusedField } from "../../src/backends/completions/refusals/refusal.js";
import { endUser } from "../../src/backends/completions/refusals/words.js";
import { outcome } from "../support/calls.js";
import { coreOf } from "../support/core.js";
import { bodies, chatted, played } from "./ai-sdk-calls.js";
import { aiSdkBackend } from "./ai-sdk-subject.js";
import { chatting, connectTo, serve as serveNode } from "./node-peer.js";
import { against, chat, complete } from "./openai-calls.js";
import * as images from "./openai-images-calls.js";
import { drawing } from "./openai-images-subject.js";
import { chatRequest, echo } from "./openai-subject.js";
import { imageRequest } from "./picture.js";
import { gateway, restAt } from "./rest-subject.js";
import { opened, serve } from "./serve.js";
import { callOf } from "./subject.js";
import type { Script } from "./upstream.js";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const user = "u-1@example.com";
const long = "u".repeat(65);

describe("an OpenAI-compatible server", () => {
  it.each([undefined, "never"])("is told nothing where pass_user is %s", async (pass_user) => {
    const server = await against(echo, { pass_user });
    await chat(server, { user });
    expect(JSON.stringify(server.bodies())).not.toMatch(/u-1|"user":|safety/);
  });

  it.each([
    ["openai", "safety_identifier"],
    ["auto", "user"],
    ["vllm", "user"],
    ["openrouter", "user"],
  ])("of the dialect %s is told in %s", async (dialect, field) => {
    const plain = await against(echo, { dialect, pass_user: "plain" });
    await chat(plain, { user });
    await complete(plain, { user: long });
    await complete(plain);
    expect(plain.bodies().map((body) => body[field])).toEqual([user, sha256(long), undefined]);
    const hashed = await against(echo, { dialect, pass_user: "hashed" });
    await chat(hashed, { user });
    await chat(hashed);
    expect(hashed.bodies().map((body) => body[field])).toEqual([sha256(user), undefined]);
    const other = field === "user" ? "safety_identifier" : "user";
    expect([...plain.bodies(), ...hashed.bodies()].some((body) => other in body)).toBe(false);
  });

  it("that refuses the field is asked without, once and for all, and no caller hears of it", async () => {
    const detail = [
      { type: "extra_forbidden", loc: ["body", "user"], msg: "Extra inputs are not permitted" },
    ];
    const server = await against(
      (exchange) =>
        "user" in exchange.json() ? exchange.sendJson(422, { detail }) : echo(exchange),
      { pass_user: "plain" },
    );
    const calls = [await chat(server, { user }), await chat(server, { user: "u-2" })];
    expect(server.bodies().map((body) => body.user)).toEqual([user, undefined, undefined]);
    expect(calls.flatMap(({ warnings }) => [...warnings])).toEqual([]);
  });

  it("that refuses one user's id is told the others'", async () => {
    const message = "Unsupported value: 'user' must have at most 5 characters.";
    const server = await against(
      (exchange) =>
        exchange.json().user === user
          ? exchange.sendJson(400, { error: { message, param: "user" } })
          : echo(exchange),
      { pass_user: "plain" },
    );
    const calls = [await chat(server, { user }), await chat(server, { user: "u-2" })];
    expect(server.bodies().map((body) => body.user)).toEqual([user, undefined, "u-2"]);
    expect(calls.flatMap(({ warnings }) => [...warnings])).toEqual([]);
  });

  it("that draws is told, and asked without where it refuses the field", async () => {
    const draw = drawing("localai/image");
    const refusing: Script = (exchange) =>
      exchange.json().user === "u-2"
        ? exchange.sendJson(400, {
            error: { message: "Unknown parameter: 'user'.", param: "user" },
          })
        : draw(exchange);
    const config = { image_models: ["draw"], models: ["draw"], dialect: "localai" };
    const told = await images.against("localai/models", refusing, {
      ...config,
      pass_user: "plain",
    });
    await images.generate(told.backend, { modelId: "draw", user });
    const { warnings } = await images.generate(told.backend, { modelId: "draw", user: "u-2" });
    expect(told.sent().map((body) => body.user)).toEqual([user, "u-2", undefined]);
    expect(warnings).toEqual([]);
    const quiet = await images.against("localai/models", draw, config);
    await images.generate(quiet.backend, { modelId: "draw", user });
    expect(quiet.sent()).toHaveLength(1);
    expect(quiet.sent()[0]).not.toHaveProperty("user");
  });
});

it.each([
  "Unrecognized request argument supplied: user",
  "Unknown parameter: 'safety_identifier'.",
  "property 'user' is unsupported",
  'Invalid JSON payload received. Unknown name "user": Cannot find field.',
  "unknown field `user`, expected one of `model`, `messages`",
  "unknown field `user`, expected one of `model`, `stream_options`, `temperature`, `seed`",
  "'user' is not supported by this model",
  "metadata: Extra inputs are not permitted",
  "metadata.user_id: Extra inputs are not permitted",
  "Malformed input request: #: extraneous key [user] is not permitted, please reformat your input",
  "Argument not supported on this model: user",
  "unknown field: parameter 'user' is not a valid field",
])("%j is about the field", (message) => {
  const fields = [...optionalFields, endUser];
  expect(refusedField(400, JSON.stringify({ error: { message } }), fields)).toBe(endUser);
});

it.each([
  "Unsupported role: user",
  "messages: the last one must be of the user, unexpected role 'assistant'",
  "'user' must be a string",
  "image_url is not supported in messages of the role user",
  "Unknown user",
  "metadata.user_id: user_id appears to contain an email address",
  "not supported for the role: user",
  "model 'x' is not allowed for this user",
])("%j is not", (message) => {
  const fields = [...optionalFields, endUser];
  expect(refusedField(400, JSON.stringify({ error: { message } }), fields)).toBeUndefined();
});

describe("a provider of the AI SDK", () => {
  const vendors = [
    ["@ai-sdk/anthropic", "anthropic/events", (b: Body) => b.metadata?.user_id, 256],
    ["@ai-sdk/openai", "openai/responses-stream", (b: Body) => b.safety_identifier, 64],
    ["@ai-sdk/openai-compatible", "openai/stream", (b: Body) => b.user, 64],
  ] as const;
  interface Body {
    readonly user?: string;
    readonly safety_identifier?: string;
    readonly metadata?: { readonly user_id?: string };
  }
  const provider = async (name: string, fixture: string, config: object) => {
    const server = await serve(played(fixture));
    const options = { apiKey: "sk", baseURL: `${server.url}/v1`, name: "test" };
    const models = [{ id: "m" }];
    return { server, backend: opened(aiSdkBackend({ package: name, options, models, ...config })) };
  };

  it.each(vendors)("by %s is told where pass_user says so", async (name, fixture, read, most) => {
    for (const [pass_user, ids, told] of [
      ["plain", [user, long, ""], [user, most === 64 ? sha256(long) : long, undefined]],
      ["hashed", [user], [sha256(user)]],
      [undefined, [user], [undefined]],
    ] as const) {
      const { server, backend } = await provider(name, fixture, { pass_user });
      for (const id of ids) await chatted(backend, { user: id });
      expect(bodies(server).map(read)).toEqual(told);
    }
  });

  it("is told beside what the operator's own options say, which go before", async () => {
    const provider_options = { openai: { safetyIdentifier: "all", serviceTier: "flex" } };
    const config = { pass_user: "plain", provider_options };
    const { server, backend } = await provider("@ai-sdk/openai", "openai/responses-stream", config);
    await chatted(backend, { user });
    expect(bodies(server)[0]).toMatchObject({ safety_identifier: "all" });
  });

  it("whose vendor refuses the field is asked without", async () => {
    const answer = played("openai/stream");
    const server = await serve((exchange) =>
      "user" in exchange.json()
        ? exchange.sendJson(400, { error: { message: "Unknown parameter: 'user'." } })
        : answer(exchange),
    );
    const options = { apiKey: "sk", baseURL: `${server.url}/v1`, name: "test" };
    const name = "@ai-sdk/openai-compatible";
    const config = { package: name, options, models: [{ id: "m" }], pass_user: "plain" };
    const backend = opened(aiSdkBackend(config));
    const calls = [await chatted(backend, { user }), await chatted(backend, { user })];
    expect(bodies(server).map((body) => body.user)).toEqual([user, undefined, undefined]);
    expect(calls.flatMap(({ warnings }) => warnings)).toEqual([]);
  });
});

const ways = [
  [undefined, user],
  ["plain", user],
  ["hashed", sha256(user)],
  ["never", ""],
] as const;

describe("another gateway", () => {
  it.each(ways)("by REST with pass_user %s is told %j", async (pass_user, told) => {
    const server = await gateway();
    onTestFinished(() => server.close());
    const backend = opened(restAt(server.url, { pass_user }));
    const timed = { deadline: performance.now() + 60_000 };
    const asked = { ...callOf("chat", chatRequest({ user })), ...timed };
    for await (const _ of backend.handlers.chat?.(asked) ?? []);
    const size = { width: 64, height: 48, seed: 7n };
    const request = imageRequest({ modelId: "draw", ...size, user });
    const draws = { ...callOf("streamTextToImage", request), ...timed };
    for await (const _ of backend.handlers.streamTextToImage?.(draws) ?? []);
    const posted = server.requests.filter(({ method }) => method === "POST");
    const users = posted.map(({ body }) => JSON.parse(String(body)).user);
    expect(users).toEqual([told || undefined, told || undefined]);
  });

  it.each(ways)("by gRPC with pass_user %s is told %j", async (pass_user, told) => {
    const users: string[] = [];
    const peer = await serveNode(
      chatting(async function* (request) {
        users.push(request.user);
        yield { choices: [{ finishReason: "stop", delta: { content: "Hi" } }] };
      }),
    );
    const backend = connectTo(peer.address, { pass_user });
    const hello = { model: "m", messages: [{ role: "user", content: "Hello" }], user };
    expect((await outcome(coreOf([backend]), "chat", hello)).code).toBe("ok");
    expect(users).toEqual([told]);
  });
});
