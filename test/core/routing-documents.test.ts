/** Neither the time in which documents are read, nor that they can't be, is a target's. */
import { describe, expect, it, vi } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Handle } from "../../src/core/call.js";
import { type DocumentText, haveFiles } from "../../src/core/documents.js";
import { invalidValue, unsupported } from "../../src/core/errors.js";
import { outcome } from "../support/calls.js";
import { settled } from "../support/clock.js";
import { filePart, imagePart, say } from "../support/messages.js";
import { chatModel } from "../support/models.js";
import { bench, equals, fails, gate, hello, inTurn, stateOf } from "../support/routing.js";
import { breaksAfter, png, says, scripted } from "../support/scripted.js";

const url = `data:application/pdf;base64,${Buffer.from("%PDF-1.7").toString("base64")}`;
const asking = { messages: [say("user", "", { parts: [filePart(url, "a.pdf")] })] };

/** A backend whose model `m` takes no files. */
const takesNone = (name: string, chat: Handle<"chat">) =>
  scripted({ chat }, [chatModel("m", { supports: [] })], name);

/** A backend of whose model `m` only its server knows that it takes no files. */
const refusesThem = (name: string, chat: Handle<"chat">) => {
  const refusing: Handle<"chat"> = (call) =>
    haveFiles(call.request) ? breaksAfter(unsupported("file"))(call) : chat(call);
  return scripted({ chat: refusing }, [chatModel("m", { supports: ["file"] })], name);
};

const said: DocumentText = { text: "So", pages: 1, blank: 0, damaged: false };

/** Reads when the test says so. */
function slowReader() {
  const waiting: ((text: DocumentText) => void)[] = [];
  return {
    get begun() {
      return waiting.length;
    },
    done() {
      for (const tell of waiting) tell(said);
    },
    read: () => new Promise<DocumentText>((resolve) => void waiting.push(resolve)),
  };
}

describe.each([
  ["that takes no files", takesNone],
  ["whose server refuses them", refusesThem],
])("a document that is read to a model %s", (_, backend) => {
  it("makes no target late: its time begins once it is asked", async () => {
    const held = gate();
    const documents = slowReader();
    const some = { timeouts: { firstToken: 5000 }, retry: { attempts: 1 } };
    const { core, clock } = bench([backend("a", held.handle)], some, [], { documents });
    const late = outcome(core, "chat", asking);
    await clock.advance(20_000);
    expect([documents.begun, held.begun]).toEqual([1, 0]);
    documents.done();
    await clock.advance(4999);
    expect([held.begun, stateOf(core, "a").failures]).toEqual([1, 0]);
    await clock.advance(1);
    expect((await late).code).toBe("timeout");
    expect(stateOf(core, "a").failures).toBe(1);
    expect(clock.timers).toBe(0);
  });

  it("makes none slow: no second one is asked for it, and it is not in what is known of times", async () => {
    const held = gate();
    const usual = Array<Handle<"chat">>(20).fill(says("x"));
    const all = [backend("a", inTurn(...usual, held.handle)), backend("b", says("b"))];
    const documents = slowReader();
    const some = { hedge: { percentile: 90, leastMs: 50 } };
    const { core, clock } = bench(all, some, [], { documents });
    for (let i = 0; i < 20; i++) await outcome(core, "chat", hello);
    const answer = outcome(core, "chat", asking);
    await clock.advance(1000);
    expect(documents.begun).toBe(1);
    documents.done();
    await clock.advance(10);
    held.open();
    expect((await answer).code).toBe("ok");
    expect(all[1]?.asked).toEqual([]);
    const { firstMs, totalMs } = stateOf(core, "a");
    expect([firstMs?.p99, totalMs?.p99]).toEqual([10, 10]);
    expect(clock.timers).toBe(0);
  });

  it("and can't be read says nothing of one", async () => {
    const all = [backend("a", fails("upstream_failed"))];
    const read = () => Promise.reject(invalidValue("", "no text"));
    const some = { health: { failures: 2, firstPauseMs: 1000 } };
    const { core, clock } = bench(all, some, equals(all), { documents: { read } });
    const unread = async () => (await outcome(core, "chat", asking)).code;
    await outcome(core, "chat", hello);
    expect(await unread()).toBe("unsupported_parameter");
    await outcome(core, "chat", hello);
    expect(stateOf(core, "a").state).toBe("out");
    await clock.advance(1000);
    expect(await unread()).toBe("unsupported_parameter");
    expect(stateOf(core, "a").state).toBe("due");
  });

  it("is read in its caller's name, who waits for others' turns", async () => {
    const read = vi.fn(async (_: Uint8Array, _caller: string) => said);
    const { core } = bench([backend("a", says("Hi"))], {}, [], { documents: { read } });
    const asked = async (credential: string) =>
      expect((await outcome(core, "chat", asking, { credential })).code).toBe("ok");
    for (const credential of ["one", "other", "one"]) await asked(credential);
    const [one, other, again] = read.mock.calls.map(([, caller]) => caller);
    expect([one === again, one === other, one]).toEqual([true, false, expect.stringMatching(/./)]);
  });
});

it("pages without text, and faults, are those of all documents of a call", async () => {
  const texts = [
    { ...said, blank: 2, damaged: true },
    { ...said, blank: 1 },
  ];
  const documents = { read: async () => texts.shift() ?? said };
  const parts = ["a.pdf", "b.pdf", "c.pdf"].map((name) => filePart(url, name));
  const { core } = bench([takesNone("a", says("Hi"))], {}, [], { documents });
  const { warnings } = await outcome(core, "chat", { messages: [say("user", "", { parts })] });
  expect(warnings).toEqual([
    "messages: this model takes no files, of documents it is told the text",
    "messages: pages of documents have no text, left out: 3",
    "messages: a document has faults, some of its text may be missing",
  ]);
});

it("a server that refuses files once it has begun without a word is told their text", async () => {
  const documents = { read: async () => said };
  const chat: Handle<"chat"> = async function* (call) {
    yield [];
    if (haveFiles(call.request)) throw unsupported("file");
    yield* says("Hi")(call);
  };
  const one = scripted({ chat }, [chatModel("m", { supports: ["file"] })], "a");
  const { code, messages } = await outcome(
    bench([one], {}, [], { documents }).core,
    "chat",
    asking,
  );
  expect([code, messages[0]?.choices[0]?.delta?.content]).toEqual(["ok", "Hi"]);
});

describe("a file goes to a target that takes it", () => {
  const documents = { read: async () => said };
  const has = (name: string, ...supports: string[]) =>
    scripted({ chat: says(name) }, [chatModel("m", { supports })], name);
  const asked = async (all: ReturnType<typeof has>[], request: object) => {
    const { core } = bench(all, {}, [], { documents });
    expect((await outcome(core, "chat", request)).code).toBe("ok");
    return all.map(({ asked }) => asked.length);
  };

  it("of a later tier, where a picture alone goes to whoever is first", async () => {
    const all = () => [has("a", "image_url"), has("b", "image_url", "file")];
    expect(await asked(all(), asking)).toEqual([0, 1]);
    const parts = [imagePart(`data:image/png;base64,${Buffer.from(png(1)).toString("base64")}`)];
    expect(await asked(all(), { messages: [say("user", "", { parts })] })).toEqual([1, 0]);
  });

  it("and with tools to one that knows these as well", async () => {
    const all = [has("a", "tools"), has("b", "file"), has("c", "tools", "file")];
    const tools = [{ function: { name: "f" } }];
    expect(await asked(all, { ...asking, tools })).toEqual([0, 0, 1]);
  });
});

describe("a document that all targets are told of as text", () => {
  it("takes no place at a model while it is read", async () => {
    const documents = slowReader();
    const all = [takesNone("a", says("Hi"))];
    const { core } = bench(all, { maxInFlight: 1 }, [], { documents });
    const answer = outcome(core, "chat", asking);
    await settled();
    expect([documents.begun, stateOf(core, "a").inFlight]).toEqual([1, 0]);
    expect((await outcome(core, "chat", hello)).code).toBe("ok");
    documents.done();
    expect((await answer).code).toBe("ok");
    expect(all[0]?.asked.map((it) => (it as LLMRequest).messages[0]?.content)).toEqual([
      "Hello",
      '<file name="a.pdf">\nSo\n</file>\n\n',
    ]);
  });

  it("is read once, whoever is asked, with its warning", async () => {
    const read = vi.fn(async () => said);
    const all = [takesNone("a", fails("upstream_unreachable")), takesNone("b", says("Hi"))];
    const { core } = bench(all, {}, [], { documents: { read } });
    const { code, warnings } = await outcome(core, "chat", asking);
    expect([code, read.mock.calls.length]).toEqual(["ok", 1]);
    expect(all.map(({ asked }) => asked.length)).toEqual([1, 1]);
    expect(warnings).toEqual([
      "messages: this model takes no files, of documents it is told the text",
    ]);
  });

  it("and can't be read is tried once, and nobody is asked", async () => {
    const read = vi.fn(() => Promise.reject(invalidValue("", "no text")));
    const all = [takesNone("a", says("a")), takesNone("b", says("b"))];
    const { core } = bench(all, {}, equals(all), { documents: { read } });
    const { code, error } = await outcome(core, "chat", asking);
    expect([code, error?.param]).toEqual(["unsupported_parameter", "messages[0].parts[0]"]);
    expect(read).toHaveBeenCalledTimes(1);
    expect(all.map(({ asked }) => asked.length)).toEqual([0, 0]);
  });

  it("is read no further once its caller left", async () => {
    const documents = slowReader();
    const caller = new AbortController();
    const { core } = bench([takesNone("a", says("Hi"))], {}, [], { documents });
    const answer = outcome(core, "chat", asking, { signal: caller.signal });
    await settled();
    caller.abort();
    expect((await answer).code).toBe("cancelled");
  });

  it("is not read beside one that nobody can read", async () => {
    const documents = slowReader();
    const word = "data:application/msword;base64,AAAA";
    const parts = [filePart(url, "a.pdf"), filePart(word, "a.doc")];
    const { core } = bench([takesNone("a", says("Hi"))], {}, [], { documents });
    const { code } = await outcome(core, "chat", { messages: [say("user", "", { parts })] });
    expect([code, documents.begun]).toEqual(["unsupported_parameter", 0]);
  });
});

describe("a document in a prompt whose tokens are counted", () => {
  it("is read once, however long that takes: model servers have their time from then on", async () => {
    const documents = slowReader();
    let asked = 0;
    const countTokens: Handle<"countTokens"> = async function* ({ signal }) {
      yield* [];
      asked++;
      signal.throwIfAborted();
      await new Promise<void>((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    };
    const model = chatModel("m", { supports: [] });
    const one = scripted({ chat: says("Hi"), countTokens }, [model], "a");
    const { core, clock } = bench([one], {}, [], { documents });
    const counted = outcome(core, "countTokens", asking);
    await clock.advance(15_000);
    expect([documents.begun, asked]).toEqual([1, 0]);
    documents.done();
    await clock.advance(9999);
    expect([documents.begun, asked]).toEqual([1, 1]);
    await clock.advance(1);
    documents.done();
    expect((await counted).messages).toMatchObject([{ estimated: true }]);
    expect(clock.timers).toBe(0);
  });
});
