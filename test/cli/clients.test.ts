import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { createServer as createHttp2Server, createSecureServer } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import {
  doneEvent,
  imageEvent,
  inlineImage,
  noSeed,
  progressEvent,
} from "../../src/core/image-events.js";
import { startLintel } from "../support/lintel.js";
import { imageModel } from "../support/models.js";
import { hangsAfter, paints, piece, png, says, scripted } from "../support/scripted.js";
import { tlsFront } from "../support/tls-front.js";
import { runHere, typing } from "./here.js";

const seen: unknown[] = [];
const lintel = await startLintel([
  scripted({
    async *chat(call) {
      seen.push(call.request);
      if (call.request.temperature === 0.5)
        call.warnings.add("no \u001b]0;x\u0007top\u009b2J\u202e_k");
      if (call.request.temperature === 1)
        throw new LintelError("invalid_value", "no\u001b[2J \u202eway");
      if (call.request.temperature === 0.25)
        throw new LintelError("upstream_unreachable", "the model server can't be reached");
      yield* says("Hello ", "\u001b[31mred\u001b[0m\u0007 there")(call);
    },
    async *streamTextToImage(call) {
      seen.push(call.request);
      yield* paints(3)(call);
    },
  }),
]);
afterAll(() => lintel.close());

const at = ["--server", lintel.url];
const folder = () => mkdtempSync(join(tmpdir(), "lintel-client-"));

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
    ]);
    expect(ended).toEqual({ code: 0, stdout: "Hello red there\n", stderr: "" });
    expect(seen.at(-1)).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi" },
      ],
      ...{ temperature: 0, topP: 0.5, topK: 3, maxTokens: 9, model: "chat-1" },
    });
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

  test("no socket at the path", async () => {
    const file = join(folder(), "file");
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

describe("what is no Lintel, and the way to one", () => {
  const pem = (name: string) => readFileSync(`test/fixtures/tls/${name}.pem`);
  const tls = { key: pem("key"), cert: pem("cert") };
  const speaksHttp1 = () => createServer((_request, response) => response.end("hello"));

  const answers = (status: number) => () =>
    createHttp2Server((_request, response) => response.writeHead(status).end("hello"));

  test.each<[string, string, () => Server, string]>([
    ["HTTP/1 alone", "http", speaksHttp1, "does not speak HTTP/2: is a Lintel there"],
    ["HTTP/2 without the path", "http", answers(404), "answers with HTTP 404: is a Lintel there?"],
    ["a proxy alone", "http", answers(502), "answers with HTTP 502: is a Lintel there?"],
    ["HTTP/2 without gRPC", "http", answers(200), "answers with something else than gRPC: is"],
    ["https where there is no TLS", "https", speaksHttp1, "does not speak TLS: is it http://?"],
    ["http where there is TLS", "http", () => createSecureServer(tls), "https://?"],
    ["a connection that is closed", "http", () => createTcpServer((s) => s.destroy()), "https://?"],
    ["a certificate of its own", "https", () => createSecureServer(tls), "NODE_EXTRA_CA_CERTS="],
  ])("%s is told in one line", async (_what, scheme, make, words) => {
    const server = make();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ended = await runHere(["models", "--server", url]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^lintel: .*\n$/);
    expect(ended.stderr).toContain(url);
    expect(ended.stderr).toContain(words);
  });

  const file = (name: string) => `test/fixtures/tls/${name}.pem`;

  /** A Lintel that speaks TLS to who has the certificate `renewed-cert`. */
  async function behindTls() {
    const { port } = await tlsFront(lintel.url);
    return (variables: object) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      onTestFinished(() => void vi.unstubAllEnvs());
      return runHere(["models", "--server", `https://localhost:${port}`]);
    };
  }

  test("certificates for a server stand in the environment", async () => {
    const ask = await behindTls();
    expect(await ask({ LINTEL_CA: file("cert") })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/wants a certificate: LINTEL_CERT and LINTEL_KEY name one/),
    });
    const shown = { LINTEL_CERT: file("renewed-cert"), LINTEL_KEY: file("renewed-key") };
    expect(await ask(shown)).toMatchObject({ code: 0, stderr: "" });
    expect(
      await ask({ LINTEL_CERT: file("named-cert"), LINTEL_KEY: file("named-key") }),
    ).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/closed the connection: it may not take the certificate in LI/),
    });
  });

  test("certificates that can't be used are named", async () => {
    const ask = await behindTls();
    const [cert, key] = [file("cert"), file("renewed-key")];
    for (const [variables, words] of [
      [{ LINTEL_CA: "/dev/null" }, "LINTEL_CA: the file /dev/null holds no certificate in PEM"],
      [{ LINTEL_CA: file("cert"), LINTEL_CERT: cert }, "LINTEL_CERT and LINTEL_KEY are of no use"],
      [{ LINTEL_KEY: key }, `LINTEL_KEY: the key in ${key} is not the one of the certificate`],
    ] as const) {
      expect(await ask(variables)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(words),
      });
    }
  });

  test("empty variables say nothing, and wrong ones are named", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("LINTEL_TOKEN", "");
    expect(await runHere(["models", ...at])).toMatchObject({ code: 0 });
    vi.stubEnv("LINTEL_TOKEN", "t\u00f6k\u2026n");
    const token = await runHere(["models", ...at]);
    expect(token).toMatchObject({ code: 2, stderr: expect.stringContaining("LINTEL_TOKEN has") });
    const option = await runHere(["models", ...at, "--token", "a\nb"]);
    expect(option).toMatchObject({ code: 2, stderr: expect.stringContaining("--token has") });
    vi.stubEnv("LINTEL_SERVER", "localhost");
    const server = await runHere(["models", "--token", "a"]);
    expect(server).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("LINTEL_SERVER must"),
    });
    vi.stubEnv("LINTEL_SERVER", "http://u:secret@127.0.0.1:9");
    const secret = await runHere(["models", "--token", "a"]);
    expect(secret.stderr).toContain("LINTEL_SERVER must carry no user and password");
    expect(secret.stderr).not.toContain("secret");
    vi.stubEnv("LINTEL_SERVER", "");
    const usual = await runHere(["models", "--token", "a"]);
    expect(usual.stderr).not.toContain("must be");
  });
});

test("a Lintel without models says so", async () => {
  const server = await startLintel([]);
  onTestFinished(() => server.close());
  const list = ["models", "--server", server.url];
  expect(await runHere(list)).toEqual({ code: 0, stdout: "", stderr: "there are no models\n" });
  expect(await runHere([...list, "--json"])).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
});

describe("lintel image", () => {
  test("previews that nobody named go to a file of their own, which is gone in the end", async () => {
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    writeFileSync("lintel-preview.png", "mine");
    const during: string[][] = [];
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(5) })];
          await expect.poll(() => readdirSync(".")).toContain("lintel-preview-2.png");
          during.push(readdirSync("."));
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(5) })];
          yield [imageEvent(0, inlineImage(png(1), 1)), doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => server.close());
    await runHere(["image", "a", "--server", server.url, "--preview"]);
    expect(during).toEqual([["lintel-preview-2.png", "lintel-preview.png"]]);
    expect(readdirSync(".").sort()).toEqual(["lintel-1.png", "lintel-preview.png"]);
    expect(readFileSync("lintel-preview.png", "utf8")).toBe("mine");
  });

  test("writes what the server made, with every option sent", async () => {
    const out = join(folder(), "cat.png");
    const ended = await runHere([
      ...["image", "a cat", ...at, "--out", out, "--seed", "7", "--size", "512x256"],
      ...["--steps", "3", "--guidance", "2.5", "--negative", "dog", "--lora", "style=0.5"],
      ...["--lora", "ink=1", "--model", "image-1"],
    ]);
    expect(ended).toMatchObject({ code: 0, stdout: `${out}  seed 7\n` });
    expect(readFileSync(out)).toEqual(png(7, 512, 256));
    expect(seen.at(-1)).toMatchObject({
      prompt: "a cat",
      negativePrompt: "dog",
      width: 512,
      height: 256,
      numInferenceSteps: 3,
      guidanceScale: 2.5,
      ...{ seed: 7n, loras: '{"style":0.5,"ink":1}', modelId: "image-1", numImagesPerPrompt: 1 },
      ...{ safetyCheck: undefined, includePreviews: false },
    });
  });

  test("writes a picture to stdout, alone and nothing else", async () => {
    const parts: Uint8Array[] = [];
    const spied = vi.spyOn(process.stdout, "write");
    onTestFinished(() => spied.mockRestore());
    const running = runHere([
      "image",
      "a cat",
      ...at,
      "--no-safety-check",
      "--seed",
      "7",
      "-o",
      "-",
    ]);
    vi.mocked(process.stdout.write).mockImplementation((part, ...more) => {
      parts.push(part as Uint8Array);
      (more.at(-1) as () => void)();
      return true;
    });
    expect(await running).toEqual({ code: 0, stdout: "", stderr: "stdout  seed 7\n" });
    expect(Buffer.concat(parts)).toEqual(png(7));
    expect(seen.at(-1)).toMatchObject({ safetyCheck: false });
  });

  test.each([[["a|b"]], [["a", "--count", "2"]]])(
    "several pictures are refused for stdout, and not made: %j",
    async (args) => {
      const before = process.cwd();
      const directory = folder();
      process.chdir(directory);
      onTestFinished(() => process.chdir(before));
      const { code, stdout, stderr } = await runHere(["image", ...args, ...at, "--out", "-"]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("--out -: there are several pictures, which need files");
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  test("several pictures are numbered, also those of several prompts", async () => {
    const directory = folder();
    const out = join(directory, "a.png");
    await runHere(["image", "a|b", ...at, "--out", out, "--seed", "1", "--count", "2"]);
    expect(readdirSync(directory).sort()).toEqual(["a-1.png", "a-2.png", "a-3.png", "a-4.png"]);
    expect(readFileSync(join(directory, "a-4.png"))).toEqual(png(4));
  });

  test("several are numbered also where nothing is told but the pictures", async () => {
    const silent = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [imageEvent(0, inlineImage(png(1), 1)), imageEvent(1, inlineImage(png(2), 2))];
          yield [doneEvent([])];
        },
      }),
    ]);
    const directory = folder();
    const out = join(directory, "a.png");
    const to = ["--server", silent.url, "--out", out];
    await runHere(["image", "a", ...to, "--count", "2"]);
    expect(readdirSync(directory).sort()).toEqual(["a-1.png", "a-2.png"]);
    await silent.close();
  });

  test("previews go to the file that was named, until the picture does", async () => {
    const out = join(folder(), "a.png");
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 2, preview: png(5) })];
          await expect.poll(() => existsSync(out) && readFileSync(out)).toEqual(png(5));
          yield [imageEvent(0, inlineImage(png(1), 1)), doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => server.close());
    const ended = await runHere(["image", "a", "--server", server.url, "--preview", "-o", out]);
    expect(ended).toMatchObject({ code: 0, stdout: `${out}  seed 1\n` });
    expect(readFileSync(out)).toEqual(png(1));
  });

  test("a file of an earlier picture stays where no name is given", async () => {
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    writeFileSync("lintel-7.png", "an earlier one");
    const run = () => runHere(["image", "a cat", ...at, "--seed", "7"]);
    expect((await run()).stdout).toBe("lintel-7-2.png  seed 7\n");
    expect((await run()).stdout).toBe("lintel-7-3.png  seed 7\n");
    expect(readFileSync("lintel-7.png", "utf8")).toBe("an earlier one");
    expect(readFileSync("lintel-7-3.png")).toEqual(png(7));
  });

  test("a link that leads nowhere is passed over as a file is, and stays", async () => {
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    symlinkSync("gone.png", "lintel-7.png");
    const ended = await runHere(["image", "a cat", ...at, "--seed", "7"]);
    expect(ended).toMatchObject({ code: 0, stdout: "lintel-7-2.png  seed 7\n" });
    expect(readFileSync("lintel-7-2.png")).toEqual(png(7));
    expect(readlinkSync("lintel-7.png")).toBe("gone.png");
  });

  test("a model without seeds has none in names and lines", async () => {
    const seedless = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [imageEvent(0, inlineImage(png(1), noSeed)), doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => seedless.close());
    const before = process.cwd();
    process.chdir(folder());
    onTestFinished(() => process.chdir(before));
    const run = () => runHere(["image", "a cat", "--server", seedless.url, "--no-safety-check"]);
    const stderr = "warning: seed: this model takes none, 0 stands for that\n";
    expect(await run()).toEqual({ code: 0, stdout: "lintel.png\n", stderr });
    expect((await run()).stdout).toBe("lintel-2.png\n");
    const asked = await runHere(["image", "a cat", ...at, "--seed", "0"]);
    expect(asked.stdout).toBe("lintel-0.png  seed 0\n");
  });

  test("a picture that can't be written is told, the others are written, and 1 ends it", async () => {
    const directory = folder();
    mkdirSync(join(directory, "a-1.png"));
    const out = join(directory, "a.png");
    const ended = await runHere(["image", "a", ...at, "--out", out, "--seed", "1", "-n", "2"]);
    expect(ended).toMatchObject({
      code: 1,
      stdout: `${join(directory, "a-2.png")}  seed 2\n`,
      stderr: expect.stringContaining(`lintel: ${join(directory, "a-1.png")} can't be written (`),
    });
    expect(readFileSync(join(directory, "a-2.png"))).toEqual(png(2));
  });

  test("one that the safety check flagged is told, in a file or on stdout", async () => {
    const models = [imageModel("i", { supports: ["seed", "safety_check"] })];
    const handle = paints(1, { nsfw: true });
    const server = await startLintel([scripted({ streamTextToImage: handle }, models)]);
    onTestFinished(() => server.close());
    const ask = ["image", "a", "--server", server.url, "--seed", "7", "--out"];
    const file = join(folder(), "a.png");
    const flagged = "  seed 7, flagged by the safety check\n";
    expect(await runHere([...ask, file])).toEqual({
      code: 0,
      stdout: `${file}${flagged}`,
      stderr: "",
    });
    expect(await runHere([...ask, "-"])).toMatchObject({ code: 0, stderr: `stdout${flagged}` });
  });

  /** A terminal in place of a stream of this process. */
  function terminal(stream: NodeJS.WriteStream): void {
    const { isTTY } = stream;
    vi.stubEnv("TERM", "xterm");
    Object.assign(stream, { isTTY: true });
    onTestFinished(() => {
      Object.assign(stream, { isTTY });
      vi.unstubAllEnvs();
    });
  }

  test("none is written to a terminal, nor asked for", async () => {
    terminal(process.stdout);
    const asked = seen.length;
    const ended = await runHere(["image", "a", ...at, "--out", "-"]);
    expect(ended).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--out -: stdout is a terminal"),
    });
    expect(seen).toHaveLength(asked);
  });

  test("a terminal is told how far it is, and how many are before it", async () => {
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 2, step: 0, steps: 4, queuePosition: 3 })];
          yield [progressEvent({ index: 1, images: 2, step: 2, steps: 4 })];
          yield [imageEvent(0, inlineImage(png(1), 1)), imageEvent(1, inlineImage(png(2), 2))];
          yield [doneEvent([])];
        },
      }),
    ]);
    onTestFinished(() => server.close());
    terminal(process.stderr);
    const to = ["--server", server.url, "--out", join(folder(), "a.png"), "--no-safety-check"];
    const { code, stderr } = await runHere(["image", "a", ...to, "-n", "2"]);
    const lines = stripVTControlCharacters(stderr).split("\r").filter(Boolean);
    expect([code, lines]).toEqual([
      0,
      [
        `[${"-".repeat(30)}]   0%  waiting, 3 before`,
        `[${"#".repeat(23)}${"-".repeat(7)}]  75%  picture 2 of 2, step 2 of 4`,
      ],
    ]);
  });

  test("what failed has a line of its own, where the progress was", async () => {
    const server = await startLintel([
      scripted({
        async *streamTextToImage() {
          yield [progressEvent({ index: 0, images: 1, step: 1, steps: 4 })];
          throw new LintelError("upstream_failed", "the model server broke off");
        },
      }),
    ]);
    onTestFinished(() => server.close());
    terminal(process.stderr);
    const { code, stderr } = await runHere(["image", "a", "--server", server.url]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/ step 1 of 4\r/);
    expect(stderr.endsWith("\r\x1b[Klintel: the model server broke off\n")).toBe(true);
  });

  test("a file that can't be written is said before a picture is asked for, and ends with 1", async () => {
    const directory = folder();
    const missing = join(directory, "no", "such.png");
    const asked = seen.length;
    for (const [out, code] of [
      [missing, "ENOENT"],
      [directory, "EISDIR"],
    ]) {
      const ended = await runHere(["image", "a cat", ...at, "--out", out ?? ""]);
      const stderr = `lintel: ${out} can't be written (${code})\n`;
      expect(ended).toEqual({ code: 1, stdout: "", stderr });
    }
    expect(seen).toHaveLength(asked);
  });

  // A folder in which not even root makes files.
  test.runIf(existsSync("/proc/self"))("so is a folder that takes no file", async () => {
    const before = process.cwd();
    process.chdir("/proc/self");
    onTestFinished(() => process.chdir(before));
    const asked = seen.length;
    const stderr = expect.stringMatching(/^lintel: this folder can't be written \(E[A-Z]+\)\n$/);
    expect(await runHere(["image", "a cat", ...at])).toEqual({ code: 1, stdout: "", stderr });
    expect(seen).toHaveLength(asked);
  });

  test.each([
    [["--size", "big"], "--size must be WIDTHxHEIGHT"],
    [["--seed", "x"], "--seed must be a whole number"],
    [["--lora", "style"], "--lora must be NAME=WEIGHT"],
    [["--lora", "ink=1", "--lora", "style=1", "--lora", "ink=0.5"], "--lora names ink twice"],
  ])("%j is used wrongly", async (args, words) => {
    const ended = await runHere(["image", "a cat", ...at, ...args]);
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
