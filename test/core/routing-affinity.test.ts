/** Which calls meet at one target: by a header, by their `prompt_cache_key`, by how their conversation begins. */
import { describe, expect, it } from "vitest";
import type { ContentPart, LLMMessage } from "../../gen/lintel/v1/chat_pb.js";
import { type RoutingSettings, routingDefaults } from "../../src/core/routing/settings.js";
import { run } from "../support/core.js";
import { filePart, imagePart, say, textPart } from "../support/messages.js";
import { backend, bench, equals, hello, textOf } from "../support/routing.js";

/** Three targets, and which of them answers a call with these headers and fields. */
function three(settings: Partial<RoutingSettings>) {
  const all = ["a", "b", "c"].map((name) => backend(name));
  const { core } = bench(all, settings, equals(all));
  return (headers: Readonly<Record<string, string>>, more: object = {}) =>
    textOf(run(core, "chat", { ...hello, ...more }, { header: (name) => headers[name] }));
}

/** Where each of some sessions is at home; each is asked for four times. */
async function homes(sessions: number, ask: (i: number) => Promise<string>) {
  const found: string[] = [];
  for (let i = 0; i < sessions; i++) {
    const home = await ask(i);
    for (let again = 0; again < 3; again++) expect(await ask(i)).toBe(home);
    found.push(home);
  }
  return found;
}

/** Where the same call goes, again and again. */
async function places(ask: () => Promise<string>) {
  const found = new Set<string>();
  for (let i = 0; i < 30; i++) found.add(await ask());
  return found.size;
}

const conversations = { affinity: "conversation" } as const;

describe("a header", () => {
  it("keeps its sessions at one target each", async () => {
    const ask = three({ affinityHeaders: ["x-session"] });
    expect(new Set(await homes(20, (i) => ask({ "x-session": `s${i}` }))).size).toBe(3);
    expect(await places(() => ask({ "x-other": "s" }))).toBe(3);
    expect(await places(() => ask({ "x-session": "" }))).toBe(3);
  });

  it("may be one that clients send by themselves", async () => {
    const ask = three({});
    for (const name of routingDefaults.affinityHeaders) {
      expect(new Set(await homes(20, (i) => ask({ [name]: `s${i}` }))).size).toBe(3);
    }
    const none = three({ affinityHeaders: [] });
    expect(await places(() => none({ "x-session-id": "s" }))).toBe(3);
  });

  it("of several is the first that a call has, and goes before all else", async () => {
    const ask = three({ affinityHeaders: ["x-session", "x-agent"], ...conversations });
    const first = await homes(20, (i) => ask({ "x-session": `s${i}` }));
    const second = await homes(20, (i) => ask({ "x-agent": `s${i}`, "x-session": "" }));
    expect(second).toEqual(first);
    const both = homes(20, (i) =>
      ask({ "x-session": `s${i}`, "x-agent": "one" }, { promptCacheKey: "one" }),
    );
    expect(await both).toEqual(first);
  });
});

describe("prompt_cache_key", () => {
  it.each(["key", "conversation"] as const)("keeps calls together, with %s", async (affinity) => {
    const ask = three({ affinity });
    // Whatever they say.
    let turn = 0;
    const said = () => [say("user", `turn ${turn++}`)];
    const of = (i: number) => ask({}, { promptCacheKey: `k${i}`, messages: said() });
    expect(new Set(await homes(20, of)).size).toBe(3);
  });

  it("is all that counts where the operator wants no more", async () => {
    const ask = three({});
    expect(await places(() => ask({}))).toBe(3);
  });
});

describe("conversations", () => {
  const ask = three(conversations);
  const at = (...messages: LLMMessage[]) => ask({}, { messages });

  it("stay where they began, and are spread by what they begin with", async () => {
    const begun = (i: number) => [say("system", "You help."), say("user", `Question ${i}`)];
    const first = await homes(20, (i) => at(...begun(i)));
    expect(new Set(first).size).toBe(3);
    const later = await homes(20, (i) =>
      at(...begun(i), say("assistant", `Answer ${i}`), say("user", `And ${i}?`)),
    );
    expect(later).toEqual(first);
    const others = await homes(20, (i) => at(say("system", "You hinder."), ...begun(i).slice(1)));
    expect(others).not.toEqual(first);
  });

  const shown = (part: (i: number) => ContentPart) => (i: number) =>
    say("user", "", { parts: [textPart("Look:"), part(i)] });
  it.each<[string, (i: number) => LLMMessage]>([
    ["a text", shown((i) => textPart(`${i}`))],
    ["an image", shown((i) => imagePart(`https://example.com/${i}.png`))],
    ["a file", shown((i) => filePart(`https://example.com/${i}.pdf`))],
    ["who says it", (i) => say(i % 2 ? "developer" : "system", `${i >> 1}`)],
    ["the length of what is long", (i) => say("user", "a".repeat(40_000 + i))],
  ])("differ by %s", async (_what, message) => {
    const found = await homes(20, (i) => at(message(i), say("user", "Well?")));
    expect(new Set(found).size).toBe(3);
  });
});
