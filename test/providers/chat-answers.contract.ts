/** What vendors answer comes out of the backend, all of it. */
import { describe, expect, it } from "vitest";
import { weatherTools as tools } from "../backends/ai-sdk-calls.js";
import { opened, serve } from "../backends/serve.js";
import { answerOf, methods } from "./answers.js";
import { backendOf, packages } from "./chat-packages.js";
import { answeredBy, answerId, counted, type Said } from "./wire.js";

const cases: Readonly<Record<string, Said>> = {
  "text behind thoughts": {
    ...{ thoughts: "The user wants rain.", text: "It rains – ü 🌧.", ending: "stop" },
  },
  "parallel calls": {
    calls: [
      { id: "call_0001", name: "get_weather", args: { city: "Rome", days: 3 } },
      { id: "call_0002", name: "get_time", args: { zone: "Europe/Oslo" } },
    ],
    ending: "tool_calls",
  },
  "thoughts, text and a call": {
    ...{ thoughts: "I look.", text: "One moment." },
    calls: [{ id: "call_0001", name: "get_weather", args: { city: "Rome" } }],
    ending: "tool_calls",
  },
  "a text that is cut": { text: "It ra", ending: "length" },
  "a text that is filtered": { text: "It ra", ending: "content_filter" },
};

describe.each(packages)("$name", (known) => {
  const { wire, model } = known;
  const { untold = [] } = wire;
  const able = Object.entries(cases).filter(
    ([, said]) => !(said.calls && untold.includes("calls")) && !untold.includes(said.ending),
  );

  describe.each(methods)("%s", (method) => {
    it.each(able)("%s", async (_, said) => {
      const server = await serve(wire.answers(said));
      const backend = opened(backendOf(known, server.url));
      const request = { model, ...(said.calls && { tools: tools.slice(1) }) };
      const tells = (what: string) => !untold.includes(what);
      expect(await answerOf(backend, method, request)).toEqual({
        ...{ code: "ok", error: undefined, warnings: [] },
        thoughts: (tells("thoughts") ? said.thoughts : undefined) ?? "",
        text: said.text ?? "",
        calls: said.calls ?? [],
        ending: said.ending,
        usage: {
          ...{ prompt: counted.prompt, completion: counted.completion },
          cached: tells("cached") ? counted.cached : undefined,
          reasoning: tells("reasoning") ? counted.reasoning : undefined,
          ...{ total: counted.prompt + counted.completion, estimated: false },
        },
        stamp: { id: answerId, model: tells("model") ? answeredBy : model },
      });
    });

    it.each(Object.entries(wire.endings ?? {}))("ends by %s", async (reason, ending) => {
      const server = await serve(wire.answers({ text: "It ra", ending: reason }));
      const backend = opened(backendOf(known, server.url));
      const { code, ending: told } = await answerOf(backend, method, { model });
      expect(code === "ok" ? told : code).toBe(ending);
    });
  });
});
