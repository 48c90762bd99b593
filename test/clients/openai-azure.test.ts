/** OpenAI's own SDK for Node as it speaks to Azure, unmodified. */
import { AzureChatOpenAI } from "@langchain/openai";
import { AuthenticationError, AzureOpenAI, NotFoundError } from "openai";
import { describe, expect, test } from "vitest";
import { hashToken } from "../../src/core/tokens.js";
import { serve } from "../doors/serve.js";
import { paints, says, scripted } from "../support/scripted.js";

const messages = [{ role: "user" as const, content: "Hello" }];

async function sdk(options: { readonly deployment?: string; readonly apiKey?: string } = {}) {
  const { url } = await serve(
    scripted({ chat: says("Hi", " there"), streamTextToImage: paints() }),
    { core: { auth: { mode: "token", tokens: [issued], teams: [] } } },
  );
  const apiVersion = "2024-10-21";
  return new AzureOpenAI({ endpoint: url, apiKey: "me", apiVersion, maxRetries: 0, ...options });
}

const issued = { name: "me", hash: hashToken("me") };

describe("AzureOpenAI", () => {
  test("chats with a deployment, whole and in a stream", async () => {
    const { chat } = await sdk({ deployment: "chat-1" });
    // It says another model's name, as Azure takes it: the deployment counts.
    const asked = { model: "gpt-4o", messages };
    const whole = await chat.completions.create(asked);
    expect(whole.choices[0]?.message.content).toBe("Hi there");
    let text = "";
    for await (const chunk of await chat.completions.create({ ...asked, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
    expect(text).toBe("Hi there");
  });

  test("names the deployment by the model", async () => {
    const { chat } = await sdk();
    const whole = await chat.completions.create({ model: "chat-1", messages });
    expect(whole.model).toBe("chat-1");
    const none = chat.completions.create({ model: "none", messages });
    await expect(none).rejects.toBeInstanceOf(NotFoundError);
  });

  test("draws, responds and lists", async () => {
    const client = await sdk();
    const drawn = await client.images.generate({ model: "image-1", prompt: "a cat", n: 2 });
    expect(drawn.data).toHaveLength(2);
    const response = await client.responses.create({ model: "chat-1", input: "Hello" });
    expect(response.output_text).toBe("Hi there");
    const listed = [];
    for await (const { id } of client.models.list()) listed.push(id);
    expect(listed).toEqual(expect.arrayContaining(["chat-1", "image-1"]));
  });

  test("hears that its key does not count", async () => {
    const { chat } = await sdk({ apiKey: "stranger" });
    const asked = chat.completions.create({ model: "chat-1", messages });
    await expect(asked).rejects.toBeInstanceOf(AuthenticationError);
  });
});

test("LangChain's AzureChatOpenAI chats, whole and in a stream", async () => {
  const { url } = await serve(scripted({ chat: says("Hi", " there") }));
  const model = new AzureChatOpenAI({
    azureOpenAIEndpoint: url,
    azureOpenAIApiKey: "me",
    azureOpenAIApiDeploymentName: "chat-1",
    azureOpenAIApiVersion: "2024-10-21",
    maxRetries: 0,
  });
  expect((await model.invoke("Hello")).content).toBe("Hi there");
  let text = "";
  for await (const piece of await model.stream("Hello")) text += piece.content;
  expect(text).toBe("Hi there");
});
