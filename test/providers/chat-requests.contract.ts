/** What requests say reaches the vendor, or the caller is told that it does not. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { asked as ask } from "../backends/ai-sdk-calls.js";
import { opened, serve } from "../backends/serve.js";
import { type Method, methods } from "./answers.js";
import { type Asked, asked, efforts, type Name } from "./asked.js";
import { backendOf, type Package, packages } from "./chat-packages.js";
import { wishes } from "./chat-wishes.js";
import { type Form, has } from "./wire.js";
import { hints } from "./wishes.js";

/** What became of a request; with the body, for who wonders. */
async function became(known: Package, method: Method, { field, request, config }: Asked) {
  const server = await serve(known.wire.answers({ text: "{}", ending: "stop" }));
  const backend = opened(backendOf(known, server.url, config));
  const { model } = known;
  const { code, error, warnings } = await ask(backend, method, {
    ...{ model, maxTokens: 4096 },
    ...request,
  });
  const body: unknown = JSON.parse(String(server.requests.at(-1)?.body ?? "null"));
  const about = error?.param === "messages" || error?.message.startsWith(`${field}:`);
  const refused = code === "unsupported_parameter" && about;
  // None of these servers tells of tokens.
  const said = warnings.filter((text) => text !== "logprobs: the model server told none");
  const warned = said.some((text) => text.startsWith(`${field}:`) || text.startsWith("tools:"));
  const how = code === "ok" ? (warned ? "warned" : "") : refused ? "refused" : `${code}: ${error}`;
  return { how, body, warnings };
}

it("are all the packages that the backend knows", () => {
  const source = readFileSync("src/backends/ai-sdk/chat-packages.ts", "utf8");
  const known = [...source.matchAll(/^ {2}"(@ai-sdk\/[^"]+)":/gm)].map(([, name]) => name);
  expect(packages.map(({ name }) => name).toSorted()).toEqual(known.toSorted());
  expect(Object.keys(wishes).toSorted()).toEqual(known.toSorted());
});

describe.each(packages)("$name", (known) => {
  const { instead = {}, faults = {}, ...wished } = wishes[known.name] ?? { efforts: [] };
  const formOf = (name: Name): Form => wished.forms?.[name] ?? known.wire.forms[name];

  describe.each(methods)("%s", (method) => {
    it.each(Object.keys(asked) as Name[])("%s", async (name) => {
      const { how, body, warnings } = await became(known, method, asked[name]);
      const sent = has(body, formOf(name));
      const fault = faults[name];
      const left = hints.includes(name) && !wished.hints?.includes(name);
      const expected = fault ? "left" : (instead[name] ?? (left ? "left" : "sent"));
      const came = how || (sent ? "sent" : "left");
      expect(came, JSON.stringify({ body, warnings }, null, 1)).toBe(expected);
      if (fault) expect(body).toSatisfy((it) => has(it, fault));
    });

    it.each(efforts.map((effort, i) => [effort, wished.efforts[i] ?? null] as const))(
      "effort %s",
      async (reasoningEffort, form) => {
        const request = { reasoningEffort };
        const { how, body, warnings } = await became(known, method, {
          ...{ field: "reasoning_effort", request },
        });
        expect(["", "warned"]).toContain(how);
        expect(has(body, form), JSON.stringify({ body, warnings }, null, 1)).toBe(true);
        expect(warnings.filter((text) => text.includes("ignored"))).toEqual([]);
      },
    );
  });
});
