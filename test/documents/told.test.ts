/** Documents told to models that take no files, through whole gateways. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Backend } from "../../src/core/backend.js";
import { LintelError, unsupported } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { KeptTexts } from "../../src/documents/kept.js";
import { PdfReader } from "../../src/documents/reader.js";
import { backendFor, echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { json, serve } from "../doors/serve.js";
import { never } from "../support/calls.js";
import { startLintel } from "../support/lintel.js";
import { filePart, imagePart, say, textPart } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { fails } from "../support/routing.js";
import { piece, says, scripted } from "../support/scripted.js";
import { endless, lines, pdf } from "./pdf.js";
import { processes } from "./processes.js";

const url = (file: Buffer) => `data:application/pdf;base64,${file.toString("base64")}`;
const report = url(pdf([lines("Zürich", "is a city."), lines("So is Rome.")]));
const scanned = url(pdf(["0 0 99 99 re f"]));

const file = (file_data: string, filename = "a.pdf") => ({
  type: "file",
  file: { file_data, filename },
});
const text = (said: string) => ({ type: "text", text: said });
const ask = (...content: object[]) => ({ messages: [{ role: "user", content }] });
const told = '<file name="a.pdf">\nZürich\nis a city.\n\nSo is Rome.\n</file>\n\n';
const warning = "messages: this model takes no files, of documents it is told the text";

/** A gateway that reads documents. */
async function reading(backend: Backend) {
  const documents = new KeptTexts(new PdfReader());
  onTestFinished(() => documents.close());
  return serve(backend, { parts: { documents } });
}

const model = (...supports: string[]) => [chatModel("chat-1", { supports })];

describe.each(["/llm", "/v1/chat/completions"])("POST %s", (path) => {
  test.each([false, true])("tells their text, with a warning; in a stream: %s", async (stream) => {
    const backend = scripted({ chat: says("Hi") }, model());
    const server = await reading(backend);
    const answer = await server.post(path, {
      ...ask(text("Which?"), file(report), file(report, "")),
      stream,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-lintel-warnings")).toBe(warning);
    await answer.text();
    const unnamed = told.replace(' name="a.pdf"', "");
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", `Which?\n\n${told}\n\n${unnamed}`),
    ]);
  });

  test("leaves images where they are among them", async () => {
    const backend = scripted({ chat: says("Hi") }, model("image_url"));
    const server = await reading(backend);
    const png = "data:image/png;base64,iVBORw0KGgo=";
    const shown = ask(file(report), { type: "image_url", image_url: { url: png } });
    expect((await server.post(path, shown)).status).toBe(200);
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "", { parts: [textPart(told), imagePart(png)] }),
    ]);
  });

  test("hands them on as they are to a model that takes files", async () => {
    const backend = scripted({ chat: says("Hi") }, model("file"));
    const server = await reading(backend);
    const { begun } = processes();
    const answer = await server.post(path, ask(file(report)));
    expect(answer.headers.get("x-lintel-warnings")).toBeNull();
    expect(backend.asked[0]).toHaveProperty("messages", [
      say("user", "", { parts: [filePart(report, "a.pdf")] }),
    ]);
    expect(begun).toEqual([]);
  });

  test.each([
    ["has no text", scanned, "the PDF has no text: its pages may be scanned"],
    ["is none", url(Buffer.from("Hello")), "this is not a PDF, or a broken one"],
  ])("names one that %s, and asks nobody", async (_, data, why) => {
    const backend = scripted({ chat: says("Hi") }, model());
    const server = await reading(backend);
    const answer = await server.post(path, ask(text("a"), file(report), file(data)));
    expect(answer.status).toBe(400);
    const param = "messages[0].content[2]";
    expect((await json(answer)).error).toMatchObject({
      ...{ code: "unsupported_parameter", param },
      message: `${param}: this model takes no files, and the text can't be read: ${why}`,
    });
    expect(backend.asked).toEqual([]);
  });

  test("says which of their pages have no text", async () => {
    const backend = scripted({ chat: says("Hi") }, model());
    const server = await reading(backend);
    const some = url(pdf(["0 0 9 9 re f", lines("So."), ""]));
    const answer = await server.post(path, ask(file(some), file(some)));
    expect(answer.headers.get("x-lintel-warnings")).toBe(
      `${warning}; messages: pages of documents have no text, left out: 4`,
    );
    const faulty = url(pdf([`${lines("So.")} /None Do`]));
    const second = await server.post(path, ask(file(report), file(faulty)));
    expect(second.headers.get("x-lintel-warnings")).toBe(
      `${warning}; messages: a document has faults, some of its text may be missing`,
    );
  });
});

describe("a server that refuses PDFs", () => {
  const refusing = async () => {
    const upstream = await Upstream.start((exchange) => {
      if (exchange.request.method === "GET") return echo(exchange);
      const parts: unknown = exchange.json().messages.at(-1).content;
      if (typeof parts === "string") return echo(exchange);
      return exchange.sendJson(400, { error: { message: "Unknown part type: file" } });
    });
    onTestFinished(() => upstream.close());
    const backend = backendFor(upstream.url);
    onTestFinished(() => backend.close());
    const bodies = () => upstream.requests.flatMap(({ body }) => (body.length > 0 ? [body] : []));
    return { backend, bodies };
  };

  test.each([false, true])(
    "is told their text, then and from then on; in a stream: %s",
    async (stream) => {
      const { backend, bodies } = await refusing();
      const server = await reading(backend);
      for (const asked of [2, 3]) {
        const answer = await server.post("/llm", { ...ask(file(report)), model: "m", stream });
        expect(answer.status).toBe(200);
        expect(await answer.text()).toContain("city.");
        expect(answer.headers.get("x-lintel-warnings")).toBe(warning);
        expect(bodies()).toHaveLength(asked);
      }
    },
  );

  test("keeps its own words where the text can't be read", async () => {
    const { backend, bodies } = await refusing();
    const server = await reading(backend);
    const answer = await server.post("/llm", {
      ...ask(file("https://example.com/a.pdf")),
      model: "m",
    });
    expect(answer.status).toBe(400);
    const { error } = await json(answer);
    expect(error).toMatchObject({ code: "unsupported_parameter", param: "file" });
    expect(error.message).toContain("Unknown part type: file");
    expect(bodies()).toHaveLength(1);
    // It was not asked for a PDF that it would have been told of.
    expect(backend.models()[0]?.supports).toContain("file");
  });
});

test.each([
  ["invalid_value", 400, "unsupported_parameter"],
  ["internal", 500, "internal"],
] as const)("a reader that fails with %s is a %i", async (code, status, seen) => {
  const documents = { read: () => Promise.reject(new LintelError(code, "so it is")) };
  const backend = scripted({ chat: says("Hi") }, model());
  const server = await serve(backend, { parts: { documents } });
  const answer = await server.post("/llm", ask(file(report)));
  expect(answer.status).toBe(status);
  const { error } = await json(answer);
  expect(error).toMatchObject({ code: seen, message: expect.stringContaining("so it is") });
  expect(backend.asked).toEqual([]);
});

test("a reader that is closed says so", async () => {
  const documents = new PdfReader();
  await documents.close();
  const server = await serve(scripted({ chat: says("Hi") }, model()), { parts: { documents } });
  const answer = await server.post("/llm", ask(file(report)));
  expect([answer.status, (await json(answer)).error.code]).toEqual([503, "shutting_down"]);
});

test("what is no PDF is not read as one", async () => {
  const backend = scripted({ chat: says("Hi") }, model());
  const server = await reading(backend);
  for (const data of ["data:application/zip;base64,UEsDBAoAAAA=", "https://example.com/a.pdf"]) {
    const { error } = await json(await server.post("/llm", ask(file(report), file(data))));
    expect(error).toMatchObject({
      code: "unsupported_parameter",
      message: "messages: messages[0] has a file, and this model takes none",
    });
  }
  expect(backend.asked).toEqual([]);
});

test.each([
  ["upstream_failed", undefined],
  ["unsupported_parameter", "stop"],
] as const)("another failure of a model that takes files is its own: %s", async (code, param) => {
  const chat = fails(code, param ? { param } : {});
  const backend = scripted({ chat }, model("file"));
  const server = await reading(backend);
  const { begun } = processes();
  const { error } = await json(await server.post("/llm", ask(file(report))));
  expect(error.code).toBe(code);
  expect(begun).toEqual([]);
  for (const request of backend.asked) {
    expect(request).toHaveProperty("messages[0].parts[0].type", "file");
  }
});

test("what began to answer is not asked again", async () => {
  const chat = scripted(
    {
      async *chat() {
        yield [piece("Once")];
        throw unsupported("file");
      },
    },
    model("file"),
  );
  const server = await reading(chat);
  const answer = await server.post("/llm", { ...ask(file(report)), stream: true });
  expect((await answer.text()).match(/Once/g)).toHaveLength(1);
  expect(chat.asked).toHaveLength(1);
});

describe("of several targets", () => {
  const both = (takes: Parameters<typeof scripted>[0]["chat"]) => {
    const one = scripted({ chat: says("text") }, model(), "one");
    const two = scripted({ ...(takes && { chat: takes }) }, model("file"), "two");
    return { one, two };
  };
  const through = async (backends: readonly Backend[], more: object = {}) => {
    const documents = new KeptTexts(new PdfReader());
    onTestFinished(() => documents.close());
    const lintel = await startLintel(backends, { parts: { documents } });
    onTestFinished(() => lintel.close());
    return async (...content: object[]) => {
      const answer = await fetch(`${lintel.url}/llm`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer me" },
        body: JSON.stringify({ ...ask(...content), ...more }),
      });
      const { choices, error } = await json(answer);
      return choices?.[0].message.content ?? error.message;
    };
  };

  test("one that takes files is asked first for a PDF, in its turn for a text", async () => {
    const { one, two } = both(says("file"));
    const asked = await through([one, two]);
    expect(await asked(file(report))).toBe("file");
    expect(await asked(text("Hi"))).toBe("text");
    expect(await asked(file("data:text/plain;base64,SGk="))).toBe("text");
  });

  test("one that does all that is asked for is asked first", async () => {
    const one = scripted({ chat: says("tools") }, model("tools"), "one");
    const two = scripted({ chat: says("both") }, model("tools", "file"), "two");
    const tools = [{ type: "function", function: { name: "f" } }];
    const asked = await through([one, two], { tools });
    expect(await asked(file(report))).toBe("both");
  });

  test("another one is told the text where that one fails", async () => {
    const { one, two } = both(fails("unavailable"));
    const asked = await through([one, two]);
    expect(await asked(file(report))).toBe("text");
    expect(one.asked[0]).toHaveProperty("messages[0].content", told);
    expect(await asked(file(scanned))).not.toBe("text");
    expect(one.asked).toHaveLength(1);
  });
});

test("other doors name one that can't be read as their clients know it", async () => {
  const server = await reading(scripted({ chat: says("Hi") }, model()));
  const data = scanned.slice(scanned.indexOf(",") + 1);
  const source = { type: "base64", media_type: "application/pdf", data };
  const content = [{ type: "document", source }];
  const messages = await server.post("/v1/messages", {
    ...{ max_tokens: 9, messages: [{ role: "user", content }] },
  });
  expect((await json(messages)).error.param).toBe("messages[0].content[0]");
  const input = [{ role: "user", content: [{ type: "input_file", file_data: scanned }] }];
  const responses = await server.post("/v1/responses", { instructions: "Read.", input });
  expect((await json(responses)).error.param).toBe("input[0].content[0]");
});

test.each([
  ["ok", report],
  ["unsupported_parameter", scanned],
])("how long reading took is told of a call that ends with %s", async (code, data) => {
  const documents = new PdfReader();
  onTestFinished(() => documents.close());
  const lines: Record<string, unknown>[] = [];
  const log = { ...silent, info: (fields: object) => void lines.push({ ...fields }) };
  const server = await serve(scripted({ chat: says("Hi") }, model()), {
    parts: { documents, log },
  });
  await server.post("/llm", ask(file(data)));
  await server.post("/llm", ask(text("Hi")));
  await expect.poll(() => lines).toHaveLength(2);
  expect(lines[0]).toMatchObject({ code, documentsMs: expect.any(Number) });
  expect(lines[1]?.documentsMs).toBeUndefined();
});

test("a document that comes again in the conversation is not read again", async () => {
  const backend = scripted({ chat: says("Hi") }, model());
  const server = await reading(backend);
  const { begun } = processes();
  for (const question of ["Which?", "And?"]) {
    await server.post("/llm", ask(file(report), text(question)));
  }
  expect(backend.asked.map((it) => (it as LLMRequest).messages[0]?.content)).toEqual([
    `${told}Which?`,
    `${told}And?`,
  ]);
  expect(begun).toHaveLength(1);
});

test("a document that can't be read is not tried again soon, and is refused in the same words", async () => {
  const backend = scripted({ chat: says("Hi") }, model());
  const server = await reading(backend);
  const { begun } = processes();
  const answers = [];
  for (const data of [scanned, scanned, report]) {
    answers.push(await json(await server.post("/llm", ask(file(data)))));
  }
  expect(answers[0].error.message).toContain("its pages may be scanned");
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2].error).toBeUndefined();
  expect(begun).toHaveLength(2);
});

test("what reads, and knows texts, ends with all that is read", async () => {
  const { begun } = processes();
  const documents = new KeptTexts(new PdfReader());
  const read = documents.read(endless(), "me", never);
  const failed = expect(read).rejects.toMatchObject({ code: "shutting_down" });
  await expect.poll(() => begun.length).toBe(1);
  await documents.close();
  await failed;
});

test("who leaves ends the process that reads", async () => {
  const backend = scripted({ chat: says("Hi") }, model());
  const server = await reading(backend);
  const { begun } = processes();
  const caller = new AbortController();
  const asked = fetch(`${server.url}/llm`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer me" },
    body: JSON.stringify(ask(file(url(endless())))),
    signal: caller.signal,
  });
  await expect.poll(() => begun.length).toBe(1);
  caller.abort();
  await expect(asked).rejects.toThrow();
  await expect.poll(() => begun[0]?.signalCode).toBe("SIGKILL");
  expect(backend.asked).toEqual([]);
});
