/** Files and sounds in messages, by every way in, without anybody who reads documents. */
import { createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChatService } from "../../gen/lintel/v1/chat_pb.js";
import { grpc } from "../contract/transports.js";
import { filePart, say, soundPart, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { piece, says, scripted } from "../support/scripted.js";
import { json, type Served, serve } from "./serve.js";

const base64 = (bytes: string | Uint8Array) => Buffer.from(bytes).toString("base64");
const pdf = `data:application/pdf;base64,${base64("%PDF-1.7 and so on")}`;
const address = "https://example.com/a.pdf";
const wav = base64("RIFF and so on");

/** Of several pieces, as the gateway looks at it. */
const long = base64(Buffer.alloc(150_000, 7));

const notBase64 = [
  ...["# Zürich", "YSBi%3D", "YQ==YQ==", "Y", "YWJjZ", "YWJj.", " ", "====", "data:,a"],
  ...[`${long}!`, `${long.slice(0, 70_000)}€${long.slice(70_000)}`, `${long.slice(0, -3)}`],
];

const looseBase64 = [
  ...["SGkg\r\nPz8/\r\n", "SGkgPz8_", "SGkgPz8-", "YQ", "YQ=", "YQ ==\n", long],
  ...[long.replaceAll(/.{76}/g, "$&\r\n"), `${long}YQ`],
];

/** What a client writes, by what the contract has. */
interface Door {
  readonly path: string;
  text(said: string): object;
  file(data: string, name?: string): object;
  /** Absent: it has none. */
  sound?(data: string, format: string): object;
  /** A request of one message of a user. */
  ask(...content: object[]): object;
  /** Where a part's file stands, and its name. */
  readonly data: string;
  readonly name: string;
}

const chat = (path: string): Door => ({
  path,
  text: (said) => ({ type: "text", text: said }),
  file: (file_data, filename) => ({ type: "file", file: { file_data, filename } }),
  sound: (data, format) => ({ type: "input_audio", input_audio: { data, format } }),
  ask: (...content) => ({ messages: [{ role: "user", content }] }),
  data: "messages[0].content[0].file.file_data",
  name: "messages[0].content[0].file.filename",
});

const isAddress = (data: string) => data.startsWith("http");

const doors: readonly Door[] = [
  chat("/llm"),
  chat("/v1/chat/completions"),
  {
    path: "/v1/responses",
    text: (text) => ({ type: "input_text", text }),
    file: (data, filename) => ({
      type: "input_file",
      filename,
      ...(isAddress(data) ? { file_url: data } : { file_data: data }),
    }),
    sound: (data, format) => ({ type: "input_audio", input_audio: { data, format } }),
    ask: (...content) => ({ store: false, input: [{ role: "user", content }] }),
    data: "input[0].content[0].file_data",
    name: "input[0].content[0].filename",
  },
  {
    path: "/v1/messages",
    text: (text) => ({ type: "text", text }),
    file(data, title) {
      const [, media_type, inline] = /^data:(.*?);base64,(.*)$/s.exec(data) ?? [];
      const source = isAddress(data)
        ? { type: "url", url: data }
        : { type: "base64", media_type: media_type ?? "x", data: inline ?? data };
      return { type: "document", title, source };
    },
    ask: (...content) => ({ max_tokens: 10, messages: [{ role: "user", content }] }),
    data: "messages[0].content[0].source",
    name: "messages[0].content[0].title",
  },
];

async function asked(server: Served, { path }: Door, body: object) {
  const answer = await server.post(path, body);
  return { status: answer.status, answer, body: await json(answer) };
}

const takesNone = chatModel("chat-1", { supports: ["image_url"] });

describe.each(doors.map((door) => [door.path, door] as const))("POST %s", (_, door) => {
  test("hands files and sounds on as they are, among texts", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const sounds = door.sound ? [door.sound(wav, "wav")] : [];
    const shown = [door.text("Read:"), door.file(pdf, "a.pdf"), door.file(address), ...sounds];
    expect((await asked(server, door, door.ask(...shown))).status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "", {
        parts: [
          textPart("Read:"),
          filePart(pdf, "a.pdf"),
          filePart(address),
          ...(door.sound ? [soundPart(wav, "wav")] : []),
        ],
      }),
    ]);
  });

  test.each([
    ["text/markdown", base64("# Zürich\n"), "# Zürich"],
    ["application/json", base64('{"a":1}'), '{"a":1}'],
    ["image/svg+xml", base64("<svg/>"), "<svg/>"],
    ["TEXT/CSV", base64("a,b\n1,2\n\n"), "a,b\n1,2\n"],
    ["text/plain", base64(Buffer.from("\uFEFFé", "utf16le")), "é"],
    ["text/plain", base64(new Uint8Array([0xfe, 0xff, 0x00, 0xe9])), "é"],
    ["text/plain", base64("\uFEFFé"), "é"],
    ["text/plain;charset=latin1", base64(new Uint8Array([0xe9])), "é"],
    ['text/csv; header=present; charset="shift_jis"', base64(new Uint8Array([0x93, 0xfa])), "日"],
    ["text/plain;charset=nobody-knows", base64("é"), "é"],
  ])("a file of %s is text to any model: %s", async (type, data, told) => {
    const backend = scripted({ chat: says("Hi") }, [takesNone]);
    const server = await serve(backend);
    const file = door.file(`data:${type};base64,${data}`, 'a "b".md');
    const shown = door.ask(file, door.text("Shorter."), file);
    expect((await asked(server, door, shown)).status).toBe(200);
    const block = `<file name="a \\"b\\".md">\n${told}\n</file>\n\n`;
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", `${block}Shorter.\n\n${block}`),
    ]);
  });

  test("a PDF has two names", async () => {
    const backend = scripted({ chat: says("Hi") }, [takesNone]);
    const documents = { read: async () => ({ text: "a", pages: 1, blank: 0, damaged: false }) };
    const server = await serve(backend, { parts: { documents } });
    for (const type of ["application/pdf", "Application/X-PDF"]) {
      const shown = door.ask(door.file(`data:${type};base64,${base64("%PDF-")}`));
      expect((await asked(server, door, shown)).status).toBe(200);
    }
    expect(backend.asked).toHaveLength(2);
  });

  test("one that is neither text nor known to the model is refused", async () => {
    const backend = scripted({ chat: says("Hi") }, [takesNone]);
    const server = await serve(backend);
    for (const data of [pdf, address, "data:application/zip;base64,UEsDBAoAAAA="]) {
      const { status, body } = await asked(server, door, door.ask(door.file(data)));
      expect(status).toBe(400);
      expect(body.error.message).toBe(
        `${door.path === "/v1/responses" ? "input" : "messages"}: messages[0] has a file, and this model takes none`,
      );
    }
    expect(backend.asked).toEqual([]);
  });

  test.each([
    "a",
    "file:///etc/passwd",
    "data:application/pdf,JVBERi0=",
    "data:;base64,JVBERi0=",
    "data:application/pdf;base64,",
  ])("422 for what is no file: %s", async (data) => {
    // Anthropic's clients write the type and the data apart.
    if (door.path === "/v1/messages" && data !== "a" && data.startsWith("data:")) return;
    const server = await serve(scripted({ chat: says("Hi") }));
    const { status, body } = await asked(server, door, door.ask(door.file(data)));
    expect(status).toBe(422);
    expect(body.error.message).toContain(
      `${door.data}: must be an http: or https: address, or a data: URL of a file in base64, with its media type`,
    );
  });

  test.each(["text/plain", "application/pdf", "application/zip"])(
    "422 for a file of %s that is no base64",
    async (type) => {
      const backend = scripted({ chat: says("Hi") });
      const server = await serve(backend);
      for (const data of notBase64) {
        const file = door.file(`data:${type};base64,${data}`);
        const { status, body } = await asked(server, door, door.ask(file));
        expect(status, data.slice(-20)).toBe(422);
        expect(body.error.message).toContain(`${door.data}: must be in base64, as it says`);
      }
      expect(backend.asked).toEqual([]);
    },
  );

  test("hands on base64 of either alphabet, in lines, and without padding, as it is", async () => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const files = looseBase64.map((data) => filePart(`data:application/pdf;base64,${data}`));
    const shown = looseBase64.map((data) => door.file(`data:application/pdf;base64,${data}`));
    expect((await asked(server, door, door.ask(...shown))).status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages[0].parts", files);
  });

  test.each(["SGkg\r\nPz8/\r\n", "SGkgPz8_", "SGkgPz8/"])("text in base64, as %j", async (data) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const file = door.file(`data:text/plain;base64,${data}`);
    expect((await asked(server, door, door.ask(file))).status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "<file>\nHi ???\n</file>\n\n"),
    ]);
  });

  test("422 for a name that is none", async () => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const file = door.file(pdf, 5 as unknown as string);
    const { status, body } = await asked(server, door, door.ask(file));
    expect(status).toBe(422);
    expect(body.error.message).toContain(`${door.name}: must be a string`);
  });

  test("takes addresses only at the hosts that the operator allows", async () => {
    const core = { imageHosts: ["*.example.org"] };
    const server = await serve(scripted({ chat: says("Hi") }), { core });
    const allowed = door.ask(door.file("https://a.example.org/b.pdf"));
    expect((await asked(server, door, allowed)).status).toBe(200);
    const { status, body } = await asked(server, door, door.ask(door.file(address)));
    expect(status).toBe(422);
    expect(body.error.message).toContain("an http: or https: address at *.example.org, or a data:");
  });

  const { sound } = door;
  if (!sound) return;

  test.each([
    ["data", sound("", "wav"), "must not be empty"],
    ["format", sound(wav, "midi"), "must be one of wav, mp3, flac,"],
    ["data", { type: "input_audio", input_audio: { format: "wav" } }, "must not be empty"],
    ["data", sound("UklG,", "wav"), "must be a sound in base64"],
    ["data", sound(`data:audio/wav;base64,${wav}!`, "wav"), "must be a sound in base64"],
    ["", { type: "input_audio" }, "is required"],
  ])("422 for a sound with a wrong %s: %j", async (member, part, why) => {
    const server = await serve(scripted({ chat: says("Hi") }));
    const { status, body } = await asked(server, door, door.ask(part));
    expect(status).toBe(422);
    const at = door.data.replace(/file(?:_data|\.file_data)$/, "input_audio");
    expect(body.error.message).toContain(`${at}${member && `.${member}`}: ${why}`);
  });

  test("sounds may have a head, or an address where that is allowed, as Qwen's servers want it", async () => {
    const backend = scripted({ chat: says("Hi") });
    const core = { imageHosts: ["example.com"] };
    const server = await serve(backend, { core });
    const data = [`data:;base64,${wav}`, `data:audio/wav;base64,${wav}`, "https://example.com/a"];
    const body = door.ask(...data.map((one) => sound(one, "wav")));
    expect((await asked(server, door, body)).status).toBe(200);
    const parts = data.map((one) => soundPart(one, "wav"));
    expect(backend.asked[0]).toHaveProperty("messages[0].parts", parts);
    const elsewhere = door.ask(sound("https://example.org/a", "wav"));
    expect((await asked(server, door, elsewhere)).status).toBe(422);
  });

  test("sounds are refused for a model that takes none", async () => {
    const backend = scripted({ chat: says("Hi") }, [takesNone]);
    const server = await serve(backend);
    const { status, body } = await asked(server, door, door.ask(sound(wav, "wav")));
    expect(status).toBe(400);
    expect(body.error.message).toContain("messages[0] has a sound, and this model takes none");
    expect(backend.asked).toEqual([]);
  });
});

describe("files that are elsewhere", () => {
  test.each([
    [
      "/v1/chat/completions",
      { type: "file", file: { file_id: "file-1" } },
      "a file by its file_id is not supported, only file_data",
    ],
    [
      "/v1/responses",
      { type: "input_file", file_id: "file-1" },
      "a file without file_data or a file_url",
    ],
    [
      "/v1/messages",
      { type: "document", source: { type: "file", file_id: "file_1" } },
      "a block of the type document",
    ],
  ])("are refused: %s", async (path, part, what) => {
    const backend = scripted({ chat: says("Hi") });
    const server = await serve(backend);
    const door = doors.find((one) => one.path === path) as Door;
    const { status, body } = await asked(server, door, door.ask(part));
    expect(status).toBe(400);
    expect(body.error.message).toContain(what);
    expect(backend.asked).toEqual([]);
  });
});

test("a file that is there, too, needs no id", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const door = doors[1] as Door;
  const part = { type: "file", file: { file_data: pdf, file_id: "file-1" } };
  expect((await asked(server, door, door.ask(part))).status).toBe(200);
  expect(backend.asked[0]).toHaveProperty("messages[0].parts", [filePart(pdf)]);
});

test("a document in blocks of text is text", async () => {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const door = doors.at(-1) as Door;
  const of = (content: unknown) => ({ type: "document", source: { type: "content", content } });
  const blocks = [
    { type: "text", text: "One." },
    { type: "text", text: "Two." },
  ];
  expect((await asked(server, door, door.ask(of("A."), of(blocks)))).status).toBe(200);
  expect(backend.asked[0]).toHaveProperty("messages", [say("user", "A.\n\nOne.\n\nTwo.")]);
  const picture = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  expect((await asked(server, door, door.ask(of([picture])))).status).toBe(400);
});

test("gRPC has them in parts, and names what is wrong there", async () => {
  const backend = scripted({ chat: says("Hi") });
  const { url } = await serve(backend);
  const client = createClient(ChatService, grpc(url));
  const options = { headers: { authorization: "Bearer me" } };
  const parts = [filePart(pdf, "a.pdf"), soundPart(wav, "mp3")];
  await client.complete({ messages: [say("user", "", { parts })] }, options);
  expect(backend.asked[0]).toMatchObject({ messages: [{ content: "", parts }] });
  for (const [field, part] of [
    ["file", { type: "file" }],
    ["file.file_data", filePart("x")],
    ["input_audio", { type: "input_audio" }],
    ["input_audio.format", soundPart(wav, "")],
  ] as const) {
    const call = client.complete({ messages: [{ role: "user", parts: [part] }] }, options);
    await expect(call).rejects.toThrow(`messages[0].parts[0].${field}: `);
  }
});

test("gRPC's part of another type keeps what it says, whatever stands beside it", async () => {
  const backend = scripted({ chat: says("Hi") });
  const { url } = await serve(backend);
  const client = createClient(ChatService, grpc(url));
  const file = filePart(`data:text/plain;base64,${base64("no")}`);
  const parts = [{ ...file, type: "text", text: "yes" }];
  const options = { headers: { authorization: "Bearer me" } };
  await client.complete({ messages: [say("user", "", { parts })] }, options);
  expect(backend.asked[0]).toHaveProperty("messages[0].content", "yes");
});

test("counts files and sounds where the server counts nothing, those of text by their text", async () => {
  const silent = scripted({
    async *chat() {
      yield [piece("Hi", "stop")];
    },
  });
  const server = await serve(silent);
  const door = doors[0] as Door;
  const prompt = async (...parts: object[]) =>
    (await asked(server, door, door.ask(door.text("abcd"), ...parts))).body.usage.prompt_tokens;
  const alone = await prompt();
  expect((await prompt(door.file(pdf))) - alone).toBe(3000);
  expect((await prompt(door.sound?.(wav, "wav") ?? {})) - alone).toBe(500);
  const text = `data:text/plain;base64,${base64("a".repeat(300))}`;
  expect((await prompt(door.file(text))) - alone).toBe(75);
});
