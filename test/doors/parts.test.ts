/** Messages in parts, and images in them, by every way in. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { connect, grpc, grpcWeb } from "../contract/transports.js";
import { imagePart, say, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { piece, says, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

const png = "data:image/png;base64,iVBORw0KGgo=";
const text = (said: unknown) => ({ type: "text", text: said });
const image = (url: unknown, more: object = {}) => ({
  type: "image_url",
  image_url: { url, ...more },
});
const user = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });

describe.each(["/llm", "/v1/chat/completions"])("POST %s", (path) => {
  test("hands images on, among texts, in their order", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const url = "https://example.com/a.png";
    const shown = user(
      text("This: "),
      image(png),
      text(" or this?"),
      image(url, { detail: "low" }),
    );
    const answer = await server.post(path, shown);
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "", {
        parts: [textPart("This: "), imagePart(png), textPart(" or this?"), imagePart(url, "low")],
      }),
    ]);
  });

  test("of too many parts it is said where the client has them", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, user(...Array<object>(10_001).fill(text(""))));
    expect(answer.status).toBe(422);
    const { detail } = await json(answer);
    expect(detail[0].loc).toEqual(["body", "messages", 0, "content"]);
  });

  test.each([
    ["data:image/png;name=a%20b.png;base64,iVBORw0KGgo=", png],
    ["DATA:image/png;charset=utf-8;base64,iVBORw0KGgo=", png],
    [`data:image/webp; name="a b";charset=utf-8;base64,AAAA`, "data:image/webp;base64,AAAA"],
  ])("hands an image on without the parameters of its type: %s", async (url, plain) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const shown = user(text("This: "), image(url, { detail: "low" }));
    expect((await server.post(path, shown)).status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages[0].parts", [
      textPart("This: "),
      imagePart(plain, "low"),
    ]);
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "", { parts: [textPart("This: "), imagePart(plain, "low")] }),
    ]);
  });

  test("takes an address alone for an image", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    expect((await server.post(path, user({ type: "image_url", image_url: png }))).status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages[0].parts", [imagePart(png)]);
  });

  test.each([
    [[text("a"), text("b")], "ab"],
    [[text("")], ""],
    [[], ""],
  ])("makes one text of %j", async (content, said) => {
    const backend = scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: [] })]);
    const server = await serve(backend);
    const answer = await server.post(path, user(...content));
    expect(answer.status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages", [say("user", said)]);
  });

  test("refuses images for a model that takes none", async () => {
    const server = await serve(
      scripted({ chat: says("Hi") }, [chatModel("chat-1", { supports: ["tools"] })]),
    );
    const answer = await server.post(path, user(text("a"), image(png)));
    expect(answer.status).toBe(400);
    expect((await json(answer)).error).toMatchObject({
      code: "unsupported_parameter",
      param: "messages",
      message: "messages: messages[0] has an image, and this model takes none",
    });
  });

  const place = "messages[0].content[0]";
  test.each([
    [place, user(5)],
    [`${place}.text`, user(text(5))],
    [`${place}.text`, user(text(null))],
    [`${place}.image_url`, user({ type: "image_url" })],
    [`${place}.image_url`, user({ type: "image_url", image_url: 5 })],
    [`${place}.image_url.url`, user(image(5))],
    [`${place}.image_url.url`, user(image(""))],
    [`${place}.image_url.url`, user(image("file:///etc/passwd"))],
    [`${place}.image_url.url`, user(image("data:text/html;base64,PGI+"))],
    [`${place}.image_url.url`, user(image("data:image/png;base64,"))],
    [`${place}.image_url.url`, user(image("data:image/png;base64,iVBOR<"))],
    [`${place}.image_url.url`, user(image("data:image/png;name=a;base64,iVBOR<"))],
    [`${place}.image_url.url`, user(image("data:image/png;name=a;base64,"))],
    [`${place}.image_url.url`, user(image("data:image/png;name=a,iVBOR"))],
    [`${place}.image_url.url`, user(image("data:image/png;base64,iVBOR"))],
    [`${place}.image_url.detail`, user(image(png, { detail: "much" }))],
    [`${place}.type`, user({ text: "a" })],
    ["messages[0].content[1].text", user(text("a"), { type: "text" })],
  ])("422: %s", async (field, body) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, body);
    expect(answer.status).toBe(422);
    const { error, detail } = await json(answer);
    expect(error.param).toBe(field);
    expect(error.message).toContain(`${field}: `);
    const loc = field.split(/[.[\]]+/).filter((it) => it !== "");
    expect(detail[0].loc.map(String)).toEqual(["body", ...loc]);
  });

  test.each([
    [[], "a data: URL of an image in base64"],
    [
      ["cdn.example.com", "*.example.org", "[::1]"],
      "an http: or https: address at cdn.example.com or *.example.org or [::1], or a data: URL of an image in base64",
    ],
  ])("takes addresses only at the hosts that the operator allows: %j", async (imageHosts, must) => {
    const server = await serve(scripted({ chat: says("Hi") }), { core: { imageHosts } });
    const asked = async (url: string) => {
      const answer = await server.post(path, user(image(url)));
      if (answer.status === 200) return "taken";
      const { error } = await json(answer);
      expect(error).toMatchObject({ code: "invalid_fields", param: `${place}.image_url.url` });
      return error.message.replace(/^.*?: must be /, "");
    };
    expect(await asked(png)).toBe("taken");
    const some = imageHosts.length > 0;
    const allowed = [
      "https://cdn.example.com/a.png",
      "HTTP://CDN.Example.com:8080/a",
      "https://a_b.example.org?b",
      "http://[::1]/a",
    ];
    for (const url of allowed) expect(await asked(url)).toBe(some ? "taken" : must);
    const others = [
      "http://169.254.169.254/latest/meta-data",
      "https://cdn.example.com@evil.test/a",
      "https://cdn.example.com.evil.test/a",
      "https://example.org/a",
      "https://evil.test/?cdn.example.com",
      "http://cdn.example.com:99999/a",
      // Others read another host in these, or none, than the gateway does.
      "http://cdn.example.com\\@169.254.169.254/a",
      "http://cdn.example.com\\a",
      "http://me@cdn.example.com/a",
      "http://cdn.exa\nmple.com/a",
      "http://cdn%2eexample.com/a",
      "http://ⓒdn.example.com/a",
      "file:///etc/passwd",
    ];
    for (const url of others) expect(await asked(url)).toBe(must);
  });

  test("names a wrong part of a request for a stream as the client wrote it, too", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const answer = await server.post(path, { ...user(image("x")), stream: true });
    expect(answer.status).toBe(422);
    expect((await json(answer)).error.param).toBe(`${place}.image_url.url`);
  });

  test("counts an image where the server counts nothing", async () => {
    const silent = scripted({
      async *chat() {
        yield [piece("Hi", "stop")];
      },
    });
    const server = await serve(silent);
    const prompt = async (body: object) =>
      (await json(await server.post(path, body))).usage.prompt_tokens;
    const alone = await prompt(user(text("abcd")));
    expect((await prompt(user(text("abcd"), image(png)))) - alone).toBe(765);
  });
});

test("another kind of part is named, and nothing is asked", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const film = user({ type: "video_url", video_url: {} });
  const own = await server.post("/llm", film);
  expect(own.status).toBe(422);
  expect((await json(own)).error.message).toBe(
    "messages[0].content[0].type: must be one of text, image_url, file, input_audio",
  );
  const openai = await server.post("/v1/chat/completions", film);
  expect(openai.status).toBe(400);
  expect((await json(openai)).error.message).toBe(
    "messages[0].content[0]: video_url is not supported, only text, image_url, file, input_audio",
  );
  expect(backend.asked).toEqual([]);
});

describe.each(
  Object.entries({
    gRPC: grpc,
    "gRPC-Web": grpcWeb,
    "Connect with JSON": connect("JSON", "1.1"),
  }),
)("%s", (_, open) => {
  const options = { headers: { authorization: "Bearer me" } };

  test("has parts beside the content", async () => {
    const backend = scripted({ chat: says("Hi") });
    const { url } = await serve(backend);
    const client = createClient(ChatService, open(url));
    const parts = [textPart("This?"), imagePart(png, "high")];
    await client.complete({ messages: [say("user", "", { parts })] }, options);
    expect(backend.asked[0]).toMatchObject({ messages: [{ content: "", parts }] });
  });

  test.each([
    ["messages[0].content", { content: "a", parts: [textPart("b")] }],
    ["messages[0].parts[0].text", { parts: [{ type: "text" }] }],
    ["messages[0].parts[0].image_url.url", { parts: [imagePart("ftp://a/b.png")] }],
    ["messages[0].parts[1].type", { parts: [textPart("b"), { type: "video" }] }],
  ])("says what is wrong by the fields' names: %s", async (field, more) => {
    const { url } = await serve(scripted({ chat: says("Hi") }));
    const client = createClient(ChatService, open(url));
    const call = client.complete({ messages: [{ role: "user", ...more }] }, options);
    await expect(call).rejects.toThrow(`${field}: `);
  });
});
