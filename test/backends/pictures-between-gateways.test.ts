/** Pictures in answers from one Lintel behind another, by every kind of backend that one may be. */
import { expect, test } from "vitest";
import { drawnImage } from "../../src/core/drawn.js";
import { json, serve } from "../doors/serve.js";
import { gateway } from "../support/gateway.js";
import { say } from "../support/messages.js";
import { draws, scripted } from "../support/scripted.js";

const url = "data:image/png;base64,iVBORw0KGgo=";
const extra = { google: { thought_signature: "c2ln" } };
const image = drawnImage(url, JSON.stringify(extra));
const told = { index: 0, type: "image_url", image_url: { url }, extra_content: extra };

test.each([
  ["node", (at: string) => `type: node, token: me, address: "${at}"`],
  [
    "rest",
    (at: string) => `type: rest, token: me, url: "${at}", models: [{ id: chat-1, task: chat }]`,
  ],
  ["openai", (at: string) => `type: openai, api_key: me, url: "${at}", models: [chat-1]`],
])("%s", async (_, entry) => {
  const backend = scripted({ chat: draws("Here.", [image]) });
  const behind = await serve(backend);
  const { url: at } = await gateway(`backends: [{ name: a, ${entry(behind.url)} }]\n`);
  const ask = (more: object) =>
    fetch(`${at}/llm`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer me" },
      body: JSON.stringify({
        ...{ model: "chat-1", modalities: ["text", "image"] },
        image_config: { aspect_ratio: "16:9" },
        messages: [
          { role: "user", content: "Draw." },
          { role: "assistant", content: "", images: [told] },
        ],
        ...more,
      }),
    });
  const whole = await json(await ask({}));
  expect(whole.choices?.[0].message, JSON.stringify(whole)).toEqual({
    ...{ role: "assistant", content: "Here." },
    images: [told],
  });
  expect(await (await ask({ stream: true })).text()).toContain(JSON.stringify([told]));
  for (const request of backend.asked) {
    expect(request).toMatchObject({
      ...{ modalities: ["text", "image"], imageConfig: { aspectRatio: "16:9", imageSize: "" } },
      messages: [say("user", "Draw."), say("assistant", "", { images: [image] })],
    });
  }
  expect(backend.asked).toHaveLength(2);
});
