/** Whom callers ask for, as the clients of each door name it. */
import { describe, expect, test } from "vitest";
import { chatModel, imageModel } from "../support/models.js";
import { paints, says, scripted } from "../support/scripted.js";
import { hello, json, serve } from "./serve.js";

/** A request of each path that answers, but for whom it is asked. */
const requests: Readonly<Record<string, object>> = {
  "/llm": hello(),
  "/text-to-image": { prompt: "a cat" },
  "/v1/chat/completions": hello(),
  "/v1/responses": { input: "Hello" },
  "/v1/images/generations": { prompt: "a cat" },
  "/v1/messages": hello({ max_tokens: 5 }),
  "/lintel.v1.ChatService/Complete": hello(),
  "/lintel.v1.TextToImageService/TextToImage": { prompt: "a cat" },
};

const ofOpenai = ["/v1/chat/completions", "/v1/responses", "/v1/images/generations"];
const byUser = Object.keys(requests).filter((path) => path !== "/v1/messages");

/** A Lintel, and whom its backend was asked for. */
async function served() {
  const models = [chatModel("chat-1"), imageModel("image-1")];
  const backend = scripted({ chat: says("Hi"), streamTextToImage: paints(1) }, models);
  const { post } = await serve(backend);
  return {
    post: (path: string, more: object) => post(path, { ...requests[path], ...more }),
    users: () => backend.asked.map(({ user }) => user),
  };
}

/** What an error says of fields, as REST and OpenAI's paths tell it, or Connect. */
const faultOf = ({ error, message, details }: { error?: object; message?: string; details?: [] }) =>
  error ?? { message, details };

describe("a request that names a user", () => {
  test.each(byUser)("by %s is for that one", async (path) => {
    const { post, users } = await served();
    for (const user of ["u-1", "ü@example.com 🌍", "a".repeat(256), "", null]) {
      const answer = await post(path, { user });
      expect([answer.status, answer.status === 200 || (await answer.text())]).toEqual([200, true]);
    }
    expect(users()).toEqual(["u-1", "ü@example.com 🌍", "a".repeat(256), "", ""]);
  });

  test.each(byUser)("by %s in a wrong form is told so", async (path) => {
    const { post, users } = await served();
    for (const user of ["a\nb", "a".repeat(257), 123, { id: "a" }]) {
      const answer = await post(path, { user });
      expect([400, 422]).toContain(answer.status);
      expect(JSON.stringify(faultOf(await json(answer)))).toMatch(/\buser\b.*must be/);
    }
    expect(users()).toEqual([]);
  });

  test.each(ofOpenai)("by %s may do so in OpenAI's newer word, which counts more", async (path) => {
    const { post, users } = await served();
    for (const more of [
      { safety_identifier: "new" },
      { safety_identifier: "new", user: "old" },
      { safety_identifier: "new", user: 5 },
      { safety_identifier: "", user: "old" },
      { safety_identifier: null, user: "old" },
    ]) {
      expect((await post(path, more)).status).toBe(200);
    }
    expect(users()).toEqual(["new", "new", "new", "old", "old"]);
    for (const wrong of ["a\tb", 5]) {
      const answer = await post(path, { safety_identifier: wrong, user: "old" });
      expect(answer.status).toBe(422);
      expect((await json(answer)).detail[0].loc).toEqual(["body", "safety_identifier"]);
    }
  });

  test("of Anthropic's clients has it in its metadata", async () => {
    const { post, users } = await served();
    for (const metadata of [{ user_id: "u-1" }, { user_id: null }, { other: 1 }, {}, null]) {
      expect((await post("/v1/messages", { metadata })).status).toBe(200);
    }
    // A field of that name is none of theirs.
    expect((await post("/v1/messages", { user: "u-2" })).status).toBe(200);
    expect(users()).toEqual(["u-1", "", "", "", "", ""]);
    for (const [metadata, field] of [
      [{ user_id: 5 }, "metadata.user_id"],
      [{ user_id: "a\nb" }, "metadata.user_id"],
      ["u-1", "metadata"],
    ] as const) {
      const answer = await post("/v1/messages", { metadata });
      expect(answer.status).toBe(422);
      expect((await json(answer)).error.message).toContain(`${field}: must be`);
    }
    expect(users()).toHaveLength(6);
  });
});
