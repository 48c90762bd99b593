/** `lintel chat` with models that think, and with images, files and sounds. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { WriteStream } from "node:tty";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { LLMRequest, LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { startLintel } from "../support/lintel.js";
import { chatModel } from "../support/models.js";
import { piece, png, says, scripted, thought } from "../support/scripted.js";
import { runHere, typing } from "./here.js";

// What runs the tests may want colours of all that they start.
beforeEach(() => void vi.stubEnv("FORCE_COLOR", undefined));
afterEach(() => void vi.unstubAllEnvs());

const file = (name: string, bytes: string | Uint8Array) => {
  const path = join(folder(), name);
  writeFileSync(path, bytes);
  return path;
};

const folder = () => mkdtempSync(join(tmpdir(), "lintel-chat-"));

/** `lintel chat` before a Lintel whose model does this, and what that was asked. */
async function chatWith(handle: Handle<"chat">) {
  const asked: LLMRequest[] = [];
  const chat: Handle<"chat"> = (call) => {
    asked.push(call.request);
    return handle(call);
  };
  const supports = ["reasoning_effort", "image_url", "file", "input_audio", "temperature"];
  const server = await startLintel([scripted({ chat }, [chatModel("m", { supports })])]);
  onTestFinished(() => server.close());
  return { asked, ask: (...args: string[]) => runHere(["chat", ...args, "--server", server.url]) };
}

/** One whose model says messages, one step each. */
const thinking = (...messages: LLMResponse[]) =>
  chatWith(async function* () {
    for (const message of messages) yield [message];
  });

test("says whom it is for", async () => {
  const { ask, asked } = await thinking(piece("Yes", "stop"));
  await ask("Hi", "--user", "u-1");
  await ask("Hi");
  expect(asked.map(({ user }) => user)).toEqual(["u-1", ""]);
});

describe("what a model thinks", () => {
  const details = '[{"type":"reasoning.encrypted","data":"abc","index":0}]';
  const end = piece("", "stop", [7, 3]);

  test("goes to stderr, with a blank line behind it; stdout has the answer alone", async () => {
    const { ask } = await thinking(
      thought("\n I th"),
      thought("\u001b[31mink\u001b[0m\n"),
      thought("\n"),
      thought("so.\n"),
      thought("", details),
      piece("Yes"),
      piece("."),
      end,
    );
    expect(await ask("Hi")).toEqual({ code: 0, stdout: "Yes.\n", stderr: "I think\n\nso.\n\n" });
  });

  test("has a line of its own where something was said before, and where nothing is said at all", async () => {
    const late = await thinking(piece("Yes"), thought("Or?"), piece("No"), end);
    expect(await late.ask("Hi")).toEqual({ code: 0, stdout: "YesNo\n", stderr: "\n\nOr?\n\n" });
    const cut = await thinking(thought("I think"), piece("", "length", [7, 3]));
    const told = "I think\n\n(cut off: --max-tokens allows more)\n";
    expect(await cut.ask("Hi")).toEqual({ code: 0, stdout: "\n", stderr: told });
    const blank = await thinking(thought(" \n"), piece("Yes"), end);
    expect(await blank.ask("Hi")).toEqual({ code: 0, stdout: "Yes\n", stderr: "" });
  });

  test("is told apart from the failure behind it", async () => {
    const { ask } = await chatWith(async function* () {
      yield [thought("I th")];
      throw new LintelError("upstream_failed", "the model server broke off");
    });
    expect(await ask("Hi")).toEqual({
      code: 1,
      stdout: "",
      stderr: "I th\n\nlintel: the model server broke off\n",
    });
  });

  test("is handed back with the answer in a conversation", async () => {
    const { ask, asked } = await thinking(
      thought("I think "),
      thought("so. "),
      thought("", details),
      piece("Yes"),
      end,
    );
    typing(Readable.from(["Hi\n", "Really?\n"]));
    expect(await ask()).toMatchObject({ code: 0, stdout: "Yes\nYes\n" });
    expect(asked[1]?.messages).toMatchObject([
      { role: "user", content: "Hi" },
      {
        ...{ role: "assistant", content: "Yes" },
        ...{ reasoningContent: "I think so. ", reasoningDetails: details },
      },
      { role: "user", content: "Really?" },
    ]);
    // Its turns are known as one conversation's.
    expect(asked.map(({ promptCacheKey }) => promptCacheKey)).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36}$/),
      asked[0]?.promptCacheKey,
    ]);
  });

  test("may be left out, and has the effort that is asked for", async () => {
    const { ask, asked } = await thinking(thought("I think so."), piece("Yes"), end);
    const quiet = await ask("Hi", "--no-thoughts", "--effort", "low");
    expect(quiet).toEqual({ code: 0, stdout: "Yes\n", stderr: "" });
    expect(asked[0]).toMatchObject({ reasoningEffort: "low", includeReasoning: false });
    await ask("Hi");
    expect(asked[1]?.reasoningEffort).toBe("");
    expect(asked[1]?.includeReasoning).toBeUndefined();
    expect(asked[1]?.promptCacheKey).toBe("");
  });

  test("of a wrong effort those that there are are told, before anything is asked", async () => {
    const { ask, asked } = await thinking(end);
    expect(await ask("Hi", "--effort", "huge")).toMatchObject({
      ...{ code: 2, stdout: "" },
      stderr: expect.stringContaining(
        "--effort must be one of none, minimal, low, medium, high, xhigh, max\n",
      ),
    });
    const { stderr } = await ask("Hi", "--reasoning-effort", "low");
    expect(stderr).toContain('unknown option --reasoning-effort (did you mean "--effort"?)');
    expect(asked).toEqual([]);
  });

  test.each([
    ["a terminal", {}, "\u001b[2mI think\u001b[22m"],
    ["one that is to have no colours", { NO_COLOR: "1" }, "I think"],
    ["one that can't", { TERM: "dumb" }, "I think"],
  ])("is dimmed on %s", async (_, variables, shown) => {
    const { isTTY } = process.stderr;
    // Of the terminal's own variables alone: what runs the tests may have others, as CI does.
    const getColorDepth = () =>
      WriteStream.prototype.getColorDepth.call(process.stderr, { TERM: "xterm", ...variables });
    Object.assign(process.stderr, { isTTY: true, getColorDepth });
    onTestFinished(() => {
      Object.assign(process.stderr, { isTTY, getColorDepth: undefined });
    });
    const { ask } = await thinking(thought("I th"), thought("ink"), piece("Yes"), end);
    const { stdout, stderr } = await ask("Hi");
    expect(stderr.replace("\u001b[22m\u001b[2m", "")).toBe(`${shown}\n\n`);
    expect(stdout).toBe("Yes\n");
  });
});

describe("--image", () => {
  const images = {
    png: png(1),
    jpeg: Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1]),
    webp: Buffer.from("RIFF\u0001\u0002\u0003\u0004WEBPVP8 ", "latin1"),
    gif: Buffer.from("GIF89a\u0001", "latin1"),
  };
  const looking = () => {
    let answered = 0;
    return chatWith(async function* (call) {
      if (answered++ === 0 && call.request.temperature === 1) {
        throw new LintelError("invalid_value", "no");
      }
      yield* says("A cat")(call);
    });
  };
  const shown = (url: string) => ({ type: "image_url", imageUrl: { url } });

  test("shows files of every format, whatever their names, and addresses", async () => {
    const { ask, asked } = await looking();
    const address = "https://example.com/a.png";
    const files = Object.values(images).flatMap((bytes) => ["--image", file("it", bytes)]);
    const { code, stdout } = await ask("What is it?", ...files, "--image", address);
    expect([code, stdout]).toEqual([0, "A cat\n"]);
    expect(asked[0]?.messages).toMatchObject([
      {
        ...{ role: "user", content: "" },
        parts: [
          { type: "text", text: "What is it?" },
          ...Object.entries(images).map(([type, bytes]) =>
            shown(`data:image/${type};base64,${bytes.toString("base64")}`),
          ),
          shown(address),
        ],
      },
    ]);
  });

  test("shows it with the first message that is answered", async () => {
    const { ask, asked } = await looking();
    const address = "https://example.com/a.png";
    typing(Readable.from(["What?\n", "What is it?\n", "Sure?\n"]));
    expect(await ask("--image", address, "--temperature", "1")).toMatchObject({ code: 1 });
    const parts = asked.map(({ messages }) => messages.map((it) => it.parts.length));
    expect(parts).toEqual([[2], [2], [2, 0, 0]]);
    expect(asked[2]?.messages[0]?.parts[0]).toMatchObject({ text: "What is it?" });
  });

  test("of a file that can't be shown is said why, before anything is asked", async () => {
    const { ask, asked } = await looking();
    const text = file("a.png", "no image");
    const missing = join(folder(), "none.png");
    for (const [path, why] of [
      [text, "is no PNG, JPEG, WebP or GIF"],
      [file("empty.png", ""), "is no PNG, JPEG, WebP or GIF"],
      [missing, "can't be read (ENOENT)"],
      [folder(), "can't be read (EISDIR)"],
    ] as const) {
      const ended = await ask("Hi", "--image", path);
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect(ended.stderr).toContain(`lintel: --image: ${path} ${why}\n`);
    }
    expect(asked).toEqual([]);
  });
});

describe("--file and --audio", () => {
  const refused = () => chatWith(says("Hi"));

  test("send PDFs by their bytes, texts, addresses, and sounds by the end of their names", async () => {
    const { ask, asked } = await chatWith(says("Read"));
    const bytes = Buffer.from("\n%PDF-1.7\n\u00ff", "latin1");
    const { code } = await ask(
      ...["And?", "--file", file("Zürich.x", bytes), "--file", file("b.md", "# Grüezi\n")],
      ...["--file", "https://example.com/c.pdf", "--audio", file("d.WAV", "RIFF")],
    );
    expect(code).toBe(0);
    expect(asked[0]?.messages[0]?.parts).toMatchObject([
      {
        type: "text",
        text: "And?",
      },
      {
        type: "file",
        file: {
          fileData: `data:application/pdf;base64,${bytes.toString("base64")}`,
          filename: "Zürich.x",
        },
      },
      // The gateway tells every model what is text.
      { type: "text", text: '\n\n<file name="b.md">\n# Grüezi\n</file>\n\n' },
      { type: "file", file: { fileData: "https://example.com/c.pdf", filename: "" } },
      { type: "input_audio", inputAudio: { data: "UklGRg==", format: "wav" } },
    ]);
  });

  test.each([
    ["--file", file("a.bin", new Uint8Array([1, 2, 255])), "is neither a PDF nor text in UTF-8"],
    ["--file", file("a.bin", "a\0b"), "is neither a PDF nor text in UTF-8"],
    ["--file", file("a.txt", ""), "is empty"],
    ["--file", join(folder(), "none.pdf"), "can't be read (ENOENT)"],
    ["--audio", join(folder(), "none.wav"), "can't be read (ENOENT)"],
  ])("say why %s %s can't be sent, before anything is asked", async (option, path, why) => {
    const { ask, asked } = await refused();
    const ended = await ask("Hi", option, path);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain(`lintel: ${option}: ${path} ${why}\n`);
    expect(asked).toEqual([]);
  });

  test("say which sounds there are", async () => {
    const { ask } = await refused();
    const { code, stderr } = await ask("Hi", "--audio", "a.midi");
    expect(code).toBe(2);
    expect(stderr).toContain("--audio: the name of a.midi must end in one of wav, mp3, flac, ogg,");
  });
});
