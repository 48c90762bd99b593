/** Calls of all kinds by all doors, each under an id of its own. */
import { randomBytes, randomUUID } from "node:crypto";
import { type Ask, asking, type Client, mishaps, oneOf, turn, user, words } from "./asking.js";
import { tokens } from "./configuration.js";
import { further } from "./further-kinds.js";
import { rough } from "./rough.js";

/**
 * Calls of one client; as often as one stands here, so often it comes.
 * @param hasFurther also calls of backends that only a shared gateway has
 */
export function kindsOf(client: Client, hasFurther: boolean): readonly (readonly [string, Ask])[] {
  const made = asking(client);
  const { ask, read, post, chat, leaving, grpc, web, connect, hello, keyed, twice } = made;
  const { image, picture, mishap, delay, streamed, max_tokens, wrong } = made;
  return [
    ["REST", post("/llm", chat)],
    ["SSE", post("/llm", () => streamed(chat()))],
    [
      "SSE, email",
      post("/llm", () => streamed(chat({ messages: turn(`I am ${randomUUID()}@example.com`) }))),
    ],
    ["OpenAI", post("/v1/chat/completions", () => ({ ...chat(), stream: oneOf(true, false) }))],
    [
      "Responses",
      post("/v1/responses", () => ({
        model: "chat",
        input: hello(),
        stream: oneOf(true, false),
        safety_identifier: user(),
      })),
    ],
    [
      "OpenAI image",
      post("/v1/images/generations", () => ({ model: "image", prompt: words(), size: "64x64" })),
    ],
    [
      "Anthropic",
      post("/v1/messages", () => ({
        model: "chat",
        max_tokens,
        messages: turn(hello()),
        stream: oneOf(true, false),
        metadata: { user_id: user() },
      })),
    ],
    [
      "Anthropic, count",
      post("/v1/messages/count_tokens", () => ({ model: "chat", messages: turn(hello()) })),
    ],
    [
      "Google",
      post("/v1beta/models/chat:generateContent", () => ({
        contents: [{ parts: [{ text: hello() }] }],
      })),
    ],
    [
      "Google, stream",
      post("/v1beta/models/chat:streamGenerateContent?alt=sse", () => ({
        contents: [{ parts: [{ text: hello() }] }],
      })),
    ],
    ["gRPC", grpc(hello)],
    ["gRPC, left", grpc(hello, true)],
    ["gRPC, mishap", grpc(() => `${words()} do:${oneOf(...mishaps)}`)],
    ["gRPC-Web", web(hello)],
    ["Connect", connect(hello)],
    ["Connect, left", connect(() => `${words()} do:slow`, true)],
    ["image", picture()],
    ["kept, always new", post("/llm", () => chat({ model: "kept", stream: oneOf(true, false) }))],
    [
      "kept, the same",
      post("/llm", () =>
        chat({ model: "kept", messages: turn("What is Lintel?"), stream: oneOf(true, false) }),
      ),
    ],
    [
      "watched",
      post("/llm", () =>
        chat({
          model: "watched",
          messages: turn(`guard:${oneOf("flag", "fail", "pass")} ${words()}`),
        }),
      ),
    ],
    ["any name of a pattern", post("/llm", () => chat({ model: `any-${randomUUID()}` }))],
    [
      "a name that passes",
      post("/llm", () =>
        chat({ model: `listed-${Math.floor(Date.now() / 3000) - oneOf(0, 1, 2, 3)}` }),
      ),
    ],
    [
      "no such model",
      post("/llm", () => chat({ model: `none-${randomUUID()}`, stream: oneOf(true, false) })),
    ],
    [
      "no such model, Google",
      post("/v1beta/models/none:generateContent", () => ({
        contents: [{ parts: [{ text: "Hi" }] }],
      })),
    ],
    ["no such token", post("/llm", chat, () => ({ authorization: `Bearer ${randomUUID()}` }))],
    [
      "no such path",
      async (id) => {
        await read(ask(`/none/${randomUUID()}`, {}, id));
        return "refused";
      },
    ],
    [
      "wrong",
      async (id) => {
        const seen = await read(
          ask(oneOf("/llm", "/v1/chat/completions", "/text-to-image"), wrong(), id),
        );
        return seen === "ok" ? "ok" : "unheard";
      },
    ],
    ["limited", post("/llm", chat, () => ({ authorization: `Bearer ${tokens.poor}` }))],
    ["key, new", post("/llm", () => chat({ stream: oneOf(true, false) }), keyed)],
    ["key, twice", twice],
    ["key, left", leaving("/llm", () => streamed(chat()), "first", keyed)],
    [
      "session, new",
      post("/llm", chat, () => ({
        "x-session-id": randomUUID(),
        traceparent: `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`,
      })),
    ],
    ["deadline", post("/llm", delay, () => ({ "x-request-timeout-ms": "80" }))],
    ["mishap", post("/llm", mishap)],
    ["mishap, SSE", post("/llm", () => streamed(mishap()))],
    ["mishap, OpenAI", post("/v1/chat/completions", () => streamed(mishap()))],
    [
      "mishap, Anthropic",
      post("/v1/messages", () => ({
        model: "chat",
        max_tokens,
        messages: turn(`do:${oneOf(...mishaps)} ${words()}`),
        stream: true,
      })),
    ],
    ["mishap, key", post("/llm", () => streamed(mishap()), keyed)],
    ["delay", post("/llm", () => ({ ...delay(), stream: oneOf(true, false) }))],
    ["left before", leaving("/llm", () => streamed(chat()), "before")],
    ["left before, whole", leaving("/llm", () => chat(), "before")],
    ["left at first", leaving("/v1/chat/completions", () => streamed(chat()), "first")],
    [
      "left within",
      leaving(
        "/v1/messages",
        () => ({ model: "chat", max_tokens, messages: turn(`do:slow ${words()}`), stream: true }),
        "within",
      ),
    ],
    ["left, delay", leaving("/llm", () => streamed(delay()), "before")],
    ["left, image", leaving("/text-to-image", () => ({ ...image(), stream: true }), "before")],
    ...(hasFurther ? further(made) : []),
    ...rough(client.url),
  ];
}
