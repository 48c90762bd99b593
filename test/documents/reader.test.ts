/** Reading PDFs, from the bytes to the text or the reason why there is none. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { deflateSync } from "node:zlib";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { PdfReader, type ReaderLimits } from "../../src/documents/reader.js";
import { never } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { type Body, endless, firstExtra, lines, pdf, shown } from "./pdf.js";
import { isGone, processes } from "./processes.js";

const open: PdfReader[] = [];
afterEach(async () => {
  for (const reader of open.splice(0)) await reader.close();
});

function reader(limits?: ReaderLimits): PdfReader {
  const one = new PdfReader({ timeout: 600_000, ...limits });
  open.push(one);
  return one;
}

const small = pdf([lines("Hello")]);
const reason = new LintelError("cancelled", "the caller left");

/** A font whose glyphs have two bytes each. */
const composite = (encoding: string, ordering: string, maps: readonly string[] = []) => {
  const descriptor = "<< /Type /FontDescriptor /FontName /X /Flags 4 >>";
  const system = `<< /Registry (Adobe) /Ordering (${ordering}) /Supplement 0 >>`;
  const toUnicode = maps.length > 0 ? `/ToUnicode ${firstExtra(1) + 1} 0 R` : "";
  return {
    font:
      `/Type /Font /Subtype /Type0 /BaseFont /X /Encoding /${encoding} ` +
      `/DescendantFonts [${firstExtra(1)} 0 R] ${toUnicode}`,
    extra: [
      "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X " +
        `/CIDSystemInfo ${system} /FontDescriptor ${descriptor} >>`,
      {
        dictionary: "",
        bytes: Buffer.from(
          "begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange " +
            `${maps.length} beginbfchar ${maps.join(" ")} endbfchar endcmap`,
        ),
      },
    ] satisfies Body[],
  };
};
const glyphs = (...codes: readonly string[]) =>
  `BT /F1 12 Tf 72 770 Td ${codes.map((code) => `<${code}> Tj`).join(" ")} ET`;

/** A page whose stream unpacks, in two steps, to so many bytes. */
const bomb = (bytes: Buffer) =>
  pdf([
    {
      dictionary: "/Filter [/FlateDecode /FlateDecode]",
      bytes: deflateSync(deflateSync(bytes)),
    },
  ]);

describe("text", () => {
  test.each<[string, Buffer, { text: string; pages?: number; blank?: number; damaged?: boolean }]>([
    ["lines", pdf([lines("One line", "and another")]), { text: "One line\nand another" }],
    [
      "pages, some of them without text",
      pdf([lines("first"), "0 0 99 99 re f", "", lines("fourth", "page")], { compressed: true }),
      { text: "first\n\nfourth\npage", pages: 4, blank: 2 },
    ],
    [
      "what fields of forms are filled with, and notes, behind that of their page",
      pdf([lines("Pay by"), lines("second")], {
        entries: `/Annots [${[0, 1, 2, 3].map((i) => `${firstExtra(2) + i} 0 R`).join(" ")}]`,
        extra: [
          "<< /Type /Annot /Subtype /Widget /FT /Tx /T (card) /V (4111 1111) /Rect [0 0 9 9] >>",
          "<< /Type /Annot /Subtype /Widget /FT /Btn /T (b) /V /Off /Rect [0 0 9 9] >>",
          "<< /Type /Annot /Subtype /Text /Contents (A note) /Rect [0 0 9 9] >>",
          "<< /Type /Annot /Subtype /FreeText /Contents (A note) /Rect [0 0 9 9] >>",
        ],
      }),
      { text: "Pay by\nA note\n4111 1111\n\nsecond\nA note\n4111 1111", pages: 2 },
    ],
    ["letters beyond ASCII", pdf([lines("Zürich – naïve")]), { text: "Zürich – naïve" }],
    [
      "columns",
      pdf([`BT /F1 12 Tf 72 770 Td ${shown("left")} Tj 250 0 Td ${shown("right")} Tj ET`]),
      { text: "left right" },
    ],
    [
      "words in pieces",
      pdf([
        `BT /F1 12 Tf 72 770 Td ${shown("to")} Tj ${shown("gether ")} Tj ` +
          `[${shown("ker")} 20 ${shown("ned")} -900 ${shown("apart")}] TJ ET`,
      ]),
      { text: "together kerned apart" },
    ],
    [
      "glyphs by a map, also those of two halves",
      pdf(
        [glyphs("000100020003")],
        composite("Identity-H", "Identity", [
          "<0001> <65E5>",
          "<0002> <672C>",
          "<0003> <D83DDE00>",
        ]),
      ),
      { text: "日本😀" },
    ],
    [
      "glyphs that stand for nothing",
      pdf(
        [glyphs("0001", "0002", "0001")],
        composite("Identity-H", "Identity", ["<0001> <0041>", "<0002> <0000>"]),
      ),
      { text: "AA" },
    ],
    [
      "half a character",
      pdf([lines("AB")], {
        font: "/Type /Font /Subtype /Type1 /BaseFont /X /Encoding << /Differences [65 /uniD83D] >>",
      }),
      { text: "\ufffdB" },
    ],
    [
      "a file that is encrypted, but not against reading",
      pdf([lines("open to all")], { password: "", compressed: true }),
      { text: "open to all" },
    ],
    [
      "a file whose table of objects is lost",
      Buffer.from(small.toString("latin1").replace(/startxref\n\d+/, "startxref\n7"), "latin1"),
      { text: "Hello" },
    ],
    [
      "what is around a fault that viewers pass over",
      pdf([lines("good"), `${lines("before")} /None Do BT 72 700 Td ${shown("behind")} Tj ET`]),
      { text: "good\n\nbefore\nbehind", pages: 2, damaged: true },
    ],
  ])("%s", async (_what, file, { text, pages = 1, blank = 0, damaged = false }) => {
    expect(await reader().read(file, "me", never)).toEqual({ text, pages, blank, damaged });
  });
});

describe("a document that can't be read", () => {
  const notPdf = "this is not a PDF, or a broken one";
  const many = Array.from({ length: 20 }, (_, i) => lines(`page ${i}`));
  test.each<[string, Buffer, string]>([
    ["an empty file", Buffer.alloc(0), notPdf],
    ["a text", Buffer.from("Hello"), notPdf],
    ["what only begins like one", Buffer.from(`%PDF-1.7\n${"\0\xfe<< obj".repeat(99)}`), notPdf],
    ["half a file", pdf(many).subarray(0, pdf(many).length / 2), notPdf],
    [
      "a page that is lost",
      Buffer.from(pdf(many).toString("latin1").replace("6 0 R", "9 0 R"), "latin1"),
      "page 2 of the PDF is broken",
    ],
    ["a password", pdf([lines("secret")], { password: "Lintel" }), "the PDF needs a password"],
    [
      "no text",
      pdf(["0 0 99 99 re f", lines("  ")]),
      "the PDF has no text: its pages may be scanned",
    ],
    [
      "an encoding whose map is not there",
      pdf([glyphs("93fa967b")], composite("90ms-RKSJ-H", "Japan1")),
      "the PDF has text in the encoding 90ms-RKSJ-H, which can't be read here",
    ],
    [
      "a collection of glyphs whose map is not there",
      pdf([glyphs("0cd50c0e")], composite("Identity-H", "Japan1")),
      "the PDF has text in the encoding Adobe-Japan1-UCS2, which can't be read here",
    ],
  ])("%s", async (_what, file, message) => {
    const one = reader();
    const failed = one.read(file, "me", never);
    await expect(failed).rejects.toThrow(LintelError);
    await expect(failed).rejects.toMatchObject({
      code: "invalid_value",
      param: undefined,
      message,
    });
  });
});

describe("limits", () => {
  const pages = pdf([lines("four"), lines("five!")]);

  test("of the text's length, with what is between pages", async () => {
    expect(await reader({ length: 11 }).read(pages, "me", never)).toMatchObject({
      text: "four\n\nfive!",
    });
    await expect(reader({ length: 10 }).read(pages, "me", never)).rejects.toMatchObject({
      code: "invalid_value",
      message: "the PDF has more than 10 characters of text",
    });
  });

  test.each([
    ["bytes, which are outside of the heap", Buffer.alloc(400e6, " ")],
    ["an array, which grows in the largest steps", Buffer.from(`[${"0 ".repeat(50e6)}`)],
    ["text", Buffer.from(`BT /F1 12 Tf ${`(${"a".repeat(1000)}) Tj `.repeat(150e3)} ET`)],
  ])("of memory, taken by %s", async (_what, bytes) => {
    const one = reader({ memory: 128 });
    await expect(one.read(bomb(bytes), "me", never)).rejects.toMatchObject({
      code: "invalid_value",
      message: "reading the PDF takes more than 128 MiB of memory",
    });
    expect(await one.read(small, "me", never)).toMatchObject({ text: "Hello" });
  });

  test("of time", async () => {
    // No process begins within a millisecond.
    await expect(reader({ timeout: 1 }).read(small, "me", never)).rejects.toMatchObject({
      code: "invalid_value",
      message: "reading the PDF took more than 0.001 s",
    });
  });
});

test("two are read at once, each in a process, and the next when one of them is gone", async () => {
  const seen = processes();
  const { begun } = seen;
  const one = reader();
  const slow = new AbortController();
  const left = one.read(endless(), "me", slow.signal);
  const texts = await Promise.all(
    ["a", "b", "c"].map(async (text) => (await one.read(pdf([lines(text)]), "me", never)).text),
  );
  expect(texts).toEqual(["a", "b", "c"]);
  expect(begun.map(isGone)).toEqual([false, true, true, true]);
  expect(seen.most).toBe(2);
  slow.abort(reason);
  await expect(left).rejects.toBe(reason);
});

test.each([
  // All of one caller are read: then of those who wait whoever is next.
  [1, ["a1", "b1", "a2", "a3"]],
  // One of this caller's still is: then the other caller's.
  [2, ["b1", "a1", "a2", "a3"]],
])("callers take turns: %i at once", async (atOnce, order) => {
  const one = reader({ atOnce });
  const slow = Array.from({ length: atOnce }, () => new AbortController());
  const left = slow.map(async ({ signal }) => {
    await expect(one.read(endless(), "a", signal)).rejects.toBe(reason);
  });
  const read: string[] = [];
  const reads = ["a1", "a2", "a3", "b1"].map(async (text) => {
    read.push((await one.read(pdf([lines(text)]), text.charAt(0), never)).text);
  });
  slow[0]?.abort(reason);
  await Promise.all(reads);
  expect(read).toEqual(order);
  for (const caller of slow) caller.abort(reason);
  await Promise.all(left);
});

test("the turn is that of whoever has least that is still read", async () => {
  const one = reader();
  const slow = ["a", "b"].map((caller) => ({ caller, leaves: new AbortController() }));
  const left = slow.map(async ({ caller, leaves }) => {
    await expect(one.read(endless(), caller, leaves.signal)).rejects.toBe(reason);
  });
  const read: string[] = [];
  const reads = ["a2", "b2"].map(async (text) => {
    read.push((await one.read(pdf([lines(text)]), text.charAt(0), never)).text);
  });
  slow[1]?.leaves.abort(reason);
  await Promise.all(reads);
  expect(read).toEqual(["b2", "a2"]);
  slow[0]?.leaves.abort(reason);
  await Promise.all(left);
});

test("whoever leaves is told at once, and the next one's turn comes", async () => {
  const { begun } = processes();
  const one = reader();
  const callers = [1, 2, 3, 4].map(() => new AbortController());
  const reads = callers.map(({ signal }) => one.read(endless(), "me", signal));
  const next = one.read(small, "me", never);
  callers[2]?.abort(reason);
  await expect(reads[2]).rejects.toBe(reason);
  callers[0]?.abort(reason);
  await expect(reads[0]).rejects.toBe(reason);
  // The fourth has its turn.
  await vi.waitFor(() => expect(begun.length).toBe(3));
  callers[1]?.abort(reason);
  await expect(reads[1]).rejects.toBe(reason);
  expect(await next).toMatchObject({ text: "Hello" });
  expect(begun.map(isGone)).toEqual([true, true, false, true]);
  callers[3]?.abort(reason);
  await expect(reads[3]).rejects.toBe(reason);
  // One that has left before does not begin.
  await expect(one.read(small, "me", AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(begun.length).toBe(4);
});

test("a place that another one left is taken: whoever comes then waits", async () => {
  const { begun } = processes();
  const one = reader({ atOnce: 1 });
  const callers = [1, 2].map(() => new AbortController());
  const reads = callers.map(({ signal }) => one.read(endless(), "me", signal));
  await vi.waitFor(() => expect(begun.length).toBe(1));
  callers[0]?.abort(reason);
  await expect(reads[0]).rejects.toBe(reason);
  await vi.waitFor(() => expect(begun.length).toBe(2));
  const next = one.read(small, "me", never);
  await settled();
  expect(begun.length).toBe(2);
  callers[1]?.abort(reason);
  await expect(reads[1]).rejects.toBe(reason);
  expect(await next).toMatchObject({ text: "Hello" });
});

test("closing ends what is read and what waits, and refuses what comes", async () => {
  const { begun } = processes();
  const one = reader();
  const failed = [1, 2, 3].map(() =>
    one.read(endless(), "me", never).then(
      () => "read",
      ({ code }: LintelError) => code,
    ),
  );
  await vi.waitFor(() => expect(begun.length).toBe(2));
  await one.close();
  expect(begun.map(isGone)).toEqual([true, true]);
  expect(await Promise.all(failed)).toEqual(Array(3).fill("shutting_down"));
  await expect(one.read(small, "me", never)).rejects.toMatchObject({ code: "shutting_down" });
  expect(begun.length).toBe(2);
});

test("a process that is ended by another is no fault of the document", async () => {
  const { begun } = processes();
  const one = reader();
  const failed = one.read(endless(), "me", never);
  await vi.waitFor(() => expect(begun.length).toBe(1));
  begun[0]?.kill("SIGUSR2");
  await expect(failed).rejects.toMatchObject({
    code: "internal",
    message: "a PDF could not be read",
  });
});

test("V8 that ends the process has no more memory", async () => {
  const { begun } = processes();
  const failed = reader().read(endless(), "me", never);
  await vi.waitFor(() => expect(begun.length).toBe(1));
  begun[0]?.kill("SIGABRT");
  await expect(failed).rejects.toMatchObject({
    code: "invalid_value",
    message: "reading the PDF takes more than 512 MiB of memory",
  });
});

test.runIf(process.platform === "linux")(
  "where no process can begin, for want of descriptors, that is said, and the next one begins",
  async () => {
    const root = join(import.meta.dirname, "../..");
    const script = "--import ./scripts/typescript-loader.js test/documents/crowded.ts";
    const gateway = spawn("sh", ["-c", `ulimit -n 200; exec "${process.execPath}" ${script}`], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void gateway.kill("SIGKILL"));
    const said: string[] = [];
    for await (const line of createInterface({ input: gateway.stdout })) said.push(line);
    expect(said).toEqual([expect.stringMatching(/^internal: Error: spawn .* EMFILE$/), "Hello"]);
  },
);

test.runIf(process.platform === "linux")("the process is told no secrets", async () => {
  vi.stubEnv("LINTEL_TEST_SECRET", "the-key");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { begun } = processes();
  const caller = new AbortController();
  const left = reader().read(endless(), "me", caller.signal);
  await vi.waitFor(() => expect(begun.length).toBe(1));
  const environment = readFileSync(`/proc/${begun[0]?.pid}/environ`, "latin1");
  expect(environment).toContain("NODE_CHANNEL_FD");
  expect(environment).not.toContain("the-key");
  caller.abort(reason);
  await expect(left).rejects.toBe(reason);
});

/** How long a process was at work, ticks of the processor. */
const used = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, "latin1").split(" ")[13]);
/** Many more than a start takes. */
const begins = 200;

test.runIf(process.platform === "linux")(
  "signals that terminals and service managers send to all processes end none that reads",
  async () => {
    const { begun } = processes();
    const caller = new AbortController();
    const left = reader({ memory: 4096 }).read(endless(), "me", caller.signal);
    await vi.waitFor(() => expect(begun.length).toBe(1));
    const { pid = 0 } = begun[0] ?? {};
    await vi.waitFor(() => expect(used(pid)).toBeGreaterThan(begins));
    const before = used(pid);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    await vi.waitFor(() => expect(used(pid)).toBeGreaterThan(before + 20));
    caller.abort(reason);
    await expect(left).rejects.toBe(reason);
  },
);

test.runIf(process.platform === "linux")(
  "the process leaves with the gateway, however busy it is and however that ends",
  async () => {
    const root = join(import.meta.dirname, "../..");
    const gateway = spawn(
      process.execPath,
      ["--import", "./scripts/typescript-loader.js", "test/documents/endless.ts"],
      { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void gateway.kill("SIGKILL"));
    const [line] = await once(createInterface({ input: gateway.stdout }), "line");
    const pid = Number(line);
    expect(() => process.kill(pid, 0)).not.toThrow();
    await vi.waitFor(() => expect(used(pid)).toBeGreaterThan(begins));
    gateway.kill("SIGKILL");
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  },
);
