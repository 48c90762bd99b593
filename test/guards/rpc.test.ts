/** Guards as callers of the contract meet them: over gRPC, gRPC-Web and Connect. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import { chatOver, me } from "../doors/rpc-server.js";
import { deciding, guardedGateway, secret } from "./guarded-gateway.js";

const said = (content: string) => ({ model: "m", messages: [{ role: "user", content }] });

async function all(stream: AsyncIterable<LLMResponse>): Promise<LLMResponse[]> {
  const messages: LLMResponse[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

/** What an answer says, why it ended, and what is to be heeded about it. */
const told = (messages: readonly LLMResponse[]) => ({
  text: messages
    .map(({ choices: [choice] }) => choice?.message?.content ?? choice?.delta?.content ?? "")
    .join(""),
  ended: messages.map(({ choices }) => choices[0]?.finishReason ?? "").filter(Boolean),
  warnings: messages.flatMap(({ warnings }) => warnings),
});

describe.each(["gRPC, binary", "gRPC-Web on HTTP/1, binary", "Connect on HTTP/1, JSON"] as const)(
  "over %s",
  (wire) => {
    test("a prompt that is blocked has a status with its field, and reaches no model", async () => {
      const { url, prompts } = await guardedGateway(
        "guards: [{ name: g, type: pattern, find: [email], action: block }]",
      );
      const client = chatOver(wire, url);
      for (const call of [
        () => client.complete(said(`I am ${secret}`), me),
        () => all(client.chat(said(`I am ${secret}`), me)),
      ]) {
        const error = ConnectError.from(await call().catch((thrown: unknown) => thrown));
        expect(error.code).toBe(Code.FailedPrecondition);
        expect(error.rawMessage).toBe('messages[0].content: was blocked by the guard "g"');
        expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
          {
            domain: "lintel",
            reason: "content_blocked",
            metadata: { param: "messages[0].content" },
          },
        ]);
      }
      expect(prompts).toEqual([]);
    });

    test("an image that a guard blocks, or can't look at, is named, and reaches no model", async () => {
      let answer: readonly [status: number, body: object] = [200, {}];
      const port = await deciding(({ input: [first] = [] }) =>
        typeof first === "string" ? [200, { results: [{ flagged: false }] }] : answer,
      );
      const { url, prompts } = await guardedGateway(
        `guards: [{ name: g, type: moderation, url: "http://127.0.0.1:${port}", model: x, images: true }]`,
      );
      const client = chatOver(wire, url);
      const image = { type: "image_url", imageUrl: { url: "data:image/png;base64,AA==" } };
      const parts = [{ type: "text", text: "Who?" }, image];
      const shown = { model: "m", messages: [{ role: "user", parts }] };
      const param = "messages[0].parts[1].image_url.url";
      for (const [status, body, code, reason, words] of [
        [
          200,
          { results: [{ flagged: true }] },
          Code.FailedPrecondition,
          "content_blocked",
          'was blocked by the guard "g"',
        ],
        [
          400,
          {},
          Code.FailedPrecondition,
          "content_blocked",
          'the guard "g" can\'t look at it: its server refuses it',
        ],
        [500, {}, Code.Unavailable, "unavailable", 'the guard "g" can\'t look at it now'],
      ] as const) {
        answer = [status, body];
        for (const call of [
          () => client.complete(shown, me),
          () => all(client.chat(shown, me)),
          () => client.countTokens(shown, me),
        ]) {
          const error = ConnectError.from(await call().catch((thrown: unknown) => thrown));
          expect([error.code, error.rawMessage]).toEqual([code, `${param}: ${words}`]);
          expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
            { reason, metadata: { param } },
          ]);
        }
      }
      expect(prompts).toEqual([]);
    });

    test("prompts and answers are masked, whole and streamed, and warnings tell", async () => {
      const { url, prompts } = await guardedGateway(`guards:
  - { name: p, type: pattern, find: [email], action: mask }
  - { name: a, type: pattern, patterns: ["y.u"], action: mask, look_at: [answers] }`);
      const client = chatOver(wire, url);
      const warnings = [
        'guards: "p" replaced a part of the request',
        'guards: "a" replaced a part of the answer',
      ];
      const whole = await client.complete(said(`I am ${secret} .`), me);
      const expected = { text: "[a] said I am [email] .", ended: ["stop"], warnings };
      expect(told([whole])).toEqual(expected);
      const streamed = told(await all(client.chat(said(`I am ${secret} .`), me)));
      expect({ ...streamed, text: streamed.text.trim() }).toEqual(expected);
      expect(prompts).toEqual(["I am [email] .", "I am [email] ."]);
    });

    test("a stream that is blocked after its begin ends as a filtered one; ahead of it with a status", async () => {
      const { url } = await guardedGateway(
        "guards: [{ name: g, type: pattern, find: [email], action: block, look_at: [answers] }]",
      );
      const client = chatOver(wire, url);
      const { text, ended } = told(await all(client.chat(said(`I am ${secret} .`), me)));
      expect([text.trim(), ended]).toEqual(["you said I am", ["content_filter"]]);
      const refused = await client
        .complete(said(`I am ${secret}`), me)
        .catch((thrown: unknown) => thrown);
      const error = ConnectError.from(refused);
      expect(error.code).toBe(Code.FailedPrecondition);
      expect(error.rawMessage).toBe('the answer was blocked by the guard "g"');
      expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
        { reason: "content_blocked", metadata: {} },
      ]);
    });
  },
);
