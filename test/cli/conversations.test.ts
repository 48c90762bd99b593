/** `lintel chat` at work: answers, conversations, and what is refused. */
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { startLintel } from "../support/lintel.js";
import { hangsAfter, piece, says, scripted } from "../support/scripted.js";
import { startAnswering } from "./answering.js";
import { runHere, typing } from "./here.js";

const { lintel, seen, at } = await startAnswering();
afterAll(() => lintel.close());

/** A file with a text, for as long as the process runs. */
function file(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "lintel-form-")), "form");
  writeFileSync(path, text);
  return path;
}

describe("lintel chat", () => {
  test("prints an answer, and nothing that steers the terminal", async () => {
    const ended = await runHere([
      "chat",
      "Hi",
      ...at,
      "--system",
      "Be brief.",
      "--temperature",
      "0",
      ...["--top-p", "0.5", "--top-k", "3", "--max-tokens", "9", "--model", "chat-1"],
      ...["--min-p", "0.05", "--frequency-penalty", "0.5", "--presence-penalty=-0.5"],
      ...["--repetition-penalty", "1.1", "--verbosity", "low", "--service-tier", "flex"],
      ...["--logit-bias", "50256=-100", "--logit-bias", "7=2.5"],
    ]);
    expect(ended).toEqual({ code: 0, stdout: "Hello red there\n", stderr: "" });
    expect(seen.at(-1)).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi" },
      ],
      ...{ temperature: 0, topP: 0.5, topK: 3, maxTokens: 9, model: "chat-1" },
      ...{ minP: 0.05, frequencyPenalty: 0.5, presencePenalty: -0.5, repetitionPenalty: 1.1 },
      ...{ verbosity: "low", serviceTier: "flex", logitBias: { 50256: -100, 7: 2.5 } },
    });
  });

  test.each([
    [["--choice", "yes", "--choice", "no"], { type: "choice", choice: ["yes", "no"] }],
    [["--regex", "a+"], { type: "regex", regex: "a+" }],
    [["--grammar", file("root ::= a")], { type: "grammar", grammar: "root ::= a" }],
    [
      ["--schema", file('{"type":"object"}')],
      { type: "json_schema", jsonSchema: { name: "answer", schema: '{"type":"object"}' } },
    ],
  ])("asks for an answer of a form: %j", async (form, responseFormat) => {
    const { code } = await runHere(["chat", "Hi", ...at, ...form]);
    expect(code).toBe(0);
    expect(seen.at(-1)).toMatchObject({ responseFormat });
  });

  test.each([
    [["--regex", "a", "--choice", "b"], "--choice and --regex are two forms: say one"],
    [["--schema", "/none"], "--schema /none: it can't be read (ENOENT)"],
    [["--grammar", tmpdir()], `--grammar ${tmpdir()}: it can't be read (EISDIR)`],
  ])("says what is wrong with a form: %j", async (form, why) => {
    const { code, stderr } = await runHere(["chat", "Hi", ...at, ...form]);
    expect([code, stderr.split("\n")[0]]).toEqual([2, `lintel: ${why}`]);
  });

  test("a message that is refused is forgotten, and the conversation goes on", async () => {
    const asked: unknown[] = [];
    const server = await startLintel([
      scripted({
        async *chat(call) {
          const said = call.request.messages.map(({ content }) => content);
          asked.push(said);
          const last = said.at(-1);
          if (last === "two") throw new LintelError("invalid_value", "too long");
          yield* says(`answer to ${last}`)(call);
        },
      }),
    ]);
    const stdin = Readable.from(["one\n", "two\n", "three\n"]);
    const input = vi.spyOn(process, "stdin", "get").mockReturnValue(stdin as typeof process.stdin);
    onTestFinished(() => input.mockRestore());
    const ended = await runHere(["chat", "--server", server.url]);
    expect(ended).toEqual({
      code: 1,
      stdout: "answer to one\nanswer to three\n",
      stderr: "lintel: too long\n",
    });
    expect(asked.at(-1)).toEqual(["one", "answer to one", "three"]);
    await server.close();
  });

  test("a conversation at a terminal has a prompt for each line, and an end of its own", async () => {
    typing(Readable.from(["Hi\n", "  \n"]));
    const ended = await runHere(["chat", ...at]);
    expect(ended).toEqual({ code: 0, stdout: "Hello red there\n", stderr: "> > > \n" });
  });

  test("Ctrl-C ends a conversation, while it waits for a line and while it answers", async () => {
    const hanging = hangsAfter("One");
    const server = await startLintel([scripted({ chat: hanging.handle })]);
    onTestFinished(() => server.close());
    const interrupted = async (...lines: string[]) => {
      const stdin = new PassThrough();
      typing(stdin);
      const before = process.listenerCount("SIGINT");
      const running = runHere(["chat", "--server", server.url]);
      await expect.poll(() => process.listenerCount("SIGINT")).toBe(before + 1);
      for (const line of lines) stdin.write(line);
      await expect.poll(() => server.core.readiness.running).toBe(lines.length);
      process.emit("SIGINT");
      return running;
    };
    expect(await interrupted()).toEqual({ code: 130, stdout: "", stderr: "> \n" });
    expect(await interrupted("Hi\n")).toMatchObject({ code: 130, stderr: "> " });
  });

  test("an answer that breaks off, or is as long as it may be, has a line of its own", async () => {
    const server = await startLintel([
      scripted({
        async *chat(call) {
          const long = call.request.maxTokens === 1;
          yield [piece("Half", long ? "length" : "", [1, 1])];
          if (!long) throw new LintelError("upstream_failed", "the model server broke off");
        },
      }),
    ]);
    onTestFinished(() => server.close());
    const ask = ["chat", "Hi", "--server", server.url];
    const stdout = "Half\n";
    const broken = "lintel: the model server broke off\n";
    expect(await runHere(ask)).toEqual({ code: 1, stdout, stderr: broken });
    const cut = "(cut off: --max-tokens allows more)\n";
    expect(await runHere([...ask, "--max-tokens", "1"])).toEqual({ code: 0, stdout, stderr: cut });
  });

  test("options are read before the first message", async () => {
    for (const temperature of ["warm", " ", "1e999"]) {
      const ended = await runHere(["chat", ...at, "--temperature", temperature]);
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect(ended.stderr).toContain("--temperature must be a number");
    }
  });

  test.each(["2147483648", "4294967295"])("takes a seed of %s", async (seed) => {
    expect(await runHere(["chat", "Hi", ...at, "--seed", seed])).toMatchObject({ code: 0 });
    expect(seen.at(-1)).toMatchObject({ seed: BigInt(seed) });
  });

  test("nor do warnings and refusals steer it", async () => {
    const warned = await runHere(["chat", "Hi", ...at, "--temperature", "0.5"]);
    expect(warned).toMatchObject({ code: 0, stderr: "\nwarning: no top_k\n" });
    const refused = await runHere(["chat", "Hi", ...at, "--temperature", "1"]);
    expect(refused).toMatchObject({ code: 1, stderr: "lintel: no way\n" });
  });

  test("what the server refuses is told in its words", async () => {
    const ended = await runHere(["chat", "Hi", ...at, "--temperature", "9"]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^lintel: .*temperature/);
    // It answers itself: what nobody reaches is behind it.
    const away = await runHere(["chat", "Hi", ...at, "--temperature", "0.25"]);
    expect(away).toMatchObject({
      code: 1,
      stderr: "lintel: the model server can't be reached\n",
    });
  });

  test("an empty message is used wrongly, and no conversation", async () => {
    const ended = await runHere(["chat", "", ...at]);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("chat: MESSAGE is empty");
  });

  test("nobody at the address", async () => {
    const ended = await runHere(["chat", "Hi", "--server", "http://127.0.0.1:9"]);
    expect(ended).toMatchObject({
      code: 1,
      stderr: "lintel: nobody answers at http://127.0.0.1:9\n",
    });
  });

  test("a proxy that answers for nobody", async () => {
    const status = { "grpc-status": "14", "grpc-message": "no healthy upstream" };
    const proxy = createHttp2((_request, response) => {
      const headers = { ":status": 200, "content-type": "application/grpc", ...status };
      response.stream.respond(headers, { endStream: true });
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const server = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const ended = await runHere(["chat", "Hi", "--server", server]);
    proxy.close();
    const stderr = `lintel: no Lintel answers at ${server}: no healthy upstream\n`;
    expect(ended).toMatchObject({ code: 1, stderr });
  });

  test("no socket at the path", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "lintel-client-")), "file");
    writeFileSync(file, "");
    const gone = ": there is no such socket";
    for (const [server, why] of [
      [`unix:${file}.sock`, gone],
      [`unix:${file}/x.sock`, gone],
      [`unix:${file}`, ""],
    ]) {
      expect(await runHere(["models", "--server", server ?? ""])).toEqual({
        code: 1,
        stdout: "",
        stderr: `lintel: nobody answers at ${server}${why}\n`,
      });
    }
  });

  test.each([
    [["--temperature", "warm"], "--temperature must be a number"],
    [["--max-tokens", "1.5"], "--max-tokens must be a whole number"],
    [["--min-p", "few"], "--min-p must be a number"],
    [["--service-tier", "fast"], "--service-tier must be one of default, flex, priority"],
    [["--verbosity", "loud"], "--verbosity must be one of low, medium, high"],
    [["--max-tokens", "2147483648"], "--max-tokens is too large"],
    [["--top-k", "-2147483648"], "--top-k is too small"],
    [["--seed", "1.5"], "--seed must be a whole number"],
    [["--seed", "9223372036854775808"], "--seed is too large"],
    [["--server", "localhost"], "--server must be http://host:port"],
    [["--server", "http://h:99999"], "--server must be http://host:port"],
    [["--server", "http://u:pw@127.0.0.1:9"], "--server must carry no user and password: put them"],
    [["--server", `unix:/${"x".repeat(103)}`], "--server must lead to a socket whose whole path"],
  ])("%j is used wrongly", async (args, words) => {
    const ended = await runHere(["chat", "Hi", ...args]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(words);
  });
});

test("Ctrl-C ends the work on the server too", async () => {
  const hanging = hangsAfter("One");
  const server = await startLintel([scripted({ chat: hanging.handle })]);
  const before = process.listenerCount("SIGINT");
  const running = runHere(["chat", "Hi", "--server", server.url]);
  await expect.poll(() => process.listenerCount("SIGINT")).toBe(before + 1);
  await expect.poll(() => server.core.readiness.running).toBe(1);
  process.emit("SIGINT");
  expect(await running).toMatchObject({ code: 130 });
  await hanging.aborted;
  await server.close();
});
