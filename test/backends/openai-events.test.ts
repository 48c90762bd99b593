import { createParser } from "eventsource-parser";
import { describe, expect, it, vi } from "vitest";
import { EventSplitter, type ServerEvent } from "../../src/backends/completions/events.js";
import { fixture } from "./fixture.js";
import { cut } from "./upstream.js";

function split(pieces: readonly Buffer[]): ServerEvent[] {
  const splitter = new EventSplitter();
  const events = pieces.flatMap((piece) => splitter.push(piece));
  return [...events, ...splitter.end()];
}

const dataOf = (pieces: readonly Buffer[]) => split(pieces).map(({ data }) => data);

/** What eventsource-parser, an implementation of the standard, makes of the same bytes. */
function reference(bytes: Buffer): string[] {
  const data: string[] = [];
  const parser = createParser({ onEvent: (event) => data.push(event.data) });
  parser.feed(new TextDecoder().decode(bytes));
  // It waits for what follows a last CR; our end of stream is certain.
  parser.feed("\n\n");
  return data;
}

/** A generator of numbers below a bound, the same ones every time. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("event splitter", () => {
  it.each([
    ["line feeds", "data: a\n\ndata: b\n\n", ["a", "b"]],
    ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
    ["bare CR", "data: a\r\rdata: b\r\r", ["a", "b"]],
    ["all line ends mixed", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", ["a", "b", "c"]],
    ["a byte order mark", "\uFEFFdata: a\n\n", ["a"]],
    ["no space after the colon", 'data:{"a":1}\n\n', ['{"a":1}']],
    ["one space of two", "data:  a\n\n", [" a"]],
    ["several data lines", "data: a\ndata:\ndata: b\n\n", ["a\n\nb"]],
    ["a field without a colon", "data\n\n", [""]],
    ["comments and pings", ":\n\n: ping\n\ndata: a\n: in between\ndata: b\n\n", ["a\nb"]],
    ["fields that don't matter", "id: 1\nretry: 5\nevent: x\ndata: a\nfoo: b\n\n", ["a"]],
    ["events without data", "event: x\n\ndata: a\n\n", ["a"]],
    ["an end without a blank line", "data: a\n\ndata: b", ["a", "b"]],
    ["nothing", "", []],
  ])("reads %s", (_, text, expected) => {
    const bytes = Buffer.from(text);
    expect(dataOf([bytes])).toEqual(expected);
    expect(dataOf(cut(bytes, 1))).toEqual(expected);
    expect(reference(bytes)).toEqual(expected);
  });

  it("says which events the server calls errors", () => {
    const text =
      'event: error\ndata: a\n\nerror: {"code":500}\n\nevent: message\ndata: b\n\ndata: c\n\n';
    expect(split([Buffer.from(text)])).toEqual([
      { data: "a", failed: true },
      { data: '{"code":500}', failed: true },
      { data: "b", failed: false },
      { data: "c", failed: false },
    ]);
  });

  describe.each(["\n", "\r\n", "\r"])("with %j for line ends", (end) => {
    const text = fixture("vllm/stream").body.toString("utf8").replaceAll("\n", end);
    const bytes = Buffer.from(text);
    const whole = dataOf([bytes]);
    const same = (pieces: Buffer[]) =>
      expect(dataOf(pieces).join("\0") === whole.join("\0"), `${pieces[0]?.length}`).toBe(true);

    it("reads what the reference reads", () => {
      expect(whole).toEqual(reference(bytes));
      expect(whole.join("")).toContain("👩‍👩‍👧‍👦");
    });

    it("reads the same wherever the bytes are cut", () => {
      for (let at = 0; at <= bytes.length; at++) {
        same([bytes.subarray(0, at), bytes.subarray(at)]);
      }
      for (const size of [1, 2, 3, 5, 7, 64]) same(cut(bytes, size));
    });
  });

  it("reads the same for every pair of cuts through characters and line ends", () => {
    const bytes = Buffer.from('\uFEFF:\r\n\r\ndata: {"é":"🙂"}\r\ndata:\r\r\n\r\rdata: 漢\n\n');
    const whole = dataOf([bytes]);
    expect(whole).toEqual(reference(bytes));
    for (let a = 0; a <= bytes.length; a++) {
      for (let b = a; b <= bytes.length; b++) {
        expect(dataOf(cut(bytes, [a, b]))).toEqual(whole);
      }
    }
  });

  it("reads what the reference reads, in thousands of streams made at random", () => {
    const next = random(7);
    const parts = [
      "data",
      "event",
      "id",
      ":",
      " ",
      "a",
      "é",
      "🙂",
      "\n",
      "\r",
      "\r\n",
      "\n\n",
      "x:",
    ];
    for (let round = 0; round < 5000; round++) {
      const text = Array.from({ length: next(24) }, () => parts[next(parts.length)]).join("");
      const bytes = Buffer.from(text);
      const cuts = [next(bytes.length + 1), next(bytes.length + 1)].sort((a, b) => a - b);
      const [ours, theirs] = [dataOf(cut(bytes, cuts)), reference(bytes)].map(String);
      if (ours !== theirs) expect([text, cuts, ours]).toEqual([text, cuts, theirs]);
    }
  });

  it("joins a line of 10 MB once, however many pieces it comes in", () => {
    const long = "x".repeat(10 * 1024 * 1024);
    const events = dataOf(cut(Buffer.from(`data: ${long}\n\ndata: y\n\n`), 16 * 1024));
    expect(events.map((data) => data.length)).toEqual([long.length, 1]);
  });

  it.each(["\r", "\n", "\r\n"])(
    "looks at each letter a few times, with %j for line ends",
    (end) => {
      const text = end.repeat(4096);
      const splitter = new EventSplitter();
      const { test } = RegExp.prototype;
      const { indexOf } = String.prototype;
      let looked = 0;
      const index = vi.spyOn(String.prototype, "indexOf");
      index.mockImplementation(function (this: string, sign, from = 0) {
        const found = indexOf.call(this, sign, from);
        looked += (found === -1 ? this.length : found + 1) - from;
        return found;
      });
      const search = vi.spyOn(RegExp.prototype, "test");
      search.mockImplementation(function (this: RegExp, text) {
        const from = this.lastIndex;
        const found = test.call(this, text);
        looked += (found ? this.lastIndex : text.length) - from;
        return found;
      });
      splitter.push(Buffer.from(text));
      search.mockRestore();
      index.mockRestore();
      expect(looked).toBeGreaterThanOrEqual(text.length);
      expect(looked).toBeLessThan(4 * text.length);
    },
  );

  it.each([
    ["in one line", "data: 1234567890"],
    ["in many lines", "data: 123\ndata: 456\n"],
  ])("refuses an event over its limit %s", (_, text) => {
    const splitter = new EventSplitter(12);
    splitter.push(Buffer.from("data: 1234\n\n: a comment\n\n"));
    expect(() => splitter.push(Buffer.from(text))).toThrowError(
      expect.objectContaining({ code: "upstream_failed" }),
    );
  });

  it("takes events that are over its limit only together", () => {
    const splitter = new EventSplitter(12);
    const event = Buffer.from("data: 1234\n\n");
    const events = [event, event, Buffer.concat([event, event])].flatMap((piece) =>
      splitter.push(piece),
    );
    expect(events.map(({ data }) => data)).toEqual(["1234", "1234", "1234", "1234"]);
  });

  it.each([": still at work\n", "\n", ": ping\n\n", "event: ping\n\n", "id\n"])(
    "takes so much between two events that says nothing, and no more: %j",
    (line) => {
      const splitter = new EventSplitter(100, 1000);
      const most = Buffer.from(line.repeat(1000 / (line.length + 1)));
      const event = Buffer.from("data: a\n\n");
      for (let i = 0; i < 3; i++) {
        expect(splitter.push(most)).toEqual([]);
        expect(splitter.push(event)).toHaveLength(1);
      }
      const much = () => Array.from({ length: 3 }, () => splitter.push(most));
      expect(much).toThrow("sent too much that says nothing");
    },
  );

  it.each([["id: 7\n"], [": a comment\n"], ["retry: 5\nid\n"], ["}\n"]])(
    "finds an error that stands in no field after %j",
    (before) => {
      const error = '{"error":{"message":"the model crashed"}}';
      const bytes = Buffer.from(`data: a\n\n${before}${error}\n`);
      expect(split([bytes])).toEqual([
        { data: "a", failed: false },
        { data: error, failed: true },
      ]);
    },
  );

  it("reads JSON that stands in no field once, however many lines may end it", () => {
    const splitter = new EventSplitter();
    const text = `[[]\n${",[]\n".repeat(4000)}`;
    const parse = vi.spyOn(JSON, "parse");
    splitter.push(Buffer.from(text));
    const read = parse.mock.calls.reduce((sum, [json]) => sum + json.length, 0);
    parse.mockRestore();
    expect(read).toBeLessThan(2 * text.length);
  });

  it("finds an error in several lines, behind what looked like one", () => {
    const lines = ['{"error":', '  {"message": "}crashed",', '"code": 500}', "}"];
    const bytes = Buffer.from(`{ no JSON }\n${lines.join("\n")}\n`);
    expect(split([bytes])).toEqual([{ data: lines.join(""), failed: true }]);
  });
});
