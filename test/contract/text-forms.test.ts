/** Answers that are held to a text are the same on every door whose clients can say it: all but Anthropic's. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Lintel, startLintel } from "../support/lintel.js";
import { chatModel } from "../support/models.js";
import { piece, type Scripted, scripted } from "../support/scripted.js";
import { drivers } from "./drivers.js";

const hello = { messages: [{ role: "user", content: "Hello" }] };

describe.each(drivers.filter(({ name }) => !/^(?:Google|Anthropic)/.test(name)))(
  "$name",
  ({ name, chat }) => {
    const isResponses = name.startsWith("OpenAI Responses");
    const at = isResponses ? "text.format" : "response_format";
    let lintel: Lintel;
    let backend: Scripted;
    beforeAll(async () => {
      backend = scripted(
        {
          async *chat({ request }) {
            const { type, choice, regex, grammar } = request.responseFormat ?? {};
            yield [piece(JSON.stringify([type, choice, regex, grammar]))];
            yield [piece("", "stop", [1, 1])];
          },
        },
        [
          chatModel("m"),
          chatModel("of-json", { supports: ["response_format", "max_tokens"] }),
          chatModel("ignoring", { supports: ["response_format", "max_tokens"] }),
        ],
      );
      lintel = await startLintel([backend], {
        settings: { models: [{ name: "ignoring", unsupported: "ignore" }] },
      });
    });
    afterAll(() => lintel.close());

    const asking = (format: unknown, model = "m") =>
      chat?.(lintel.url, {
        ...{ name: "", expected: {} },
        request: {
          ...{ ...hello, model, max_tokens: 9 },
          ...(isResponses ? { text: { format } } : { response_format: format }),
        },
      });

    it.each([
      [{ type: "choice", choice: ["yes", "no"] }, ["choice", ["yes", "no"], "", ""]],
      [{ type: "regex", regex: "a+" }, ["regex", [], "a+", ""]],
      [{ type: "grammar", grammar: "root ::= a" }, ["grammar", [], "", "root ::= a"]],
    ])("reach the model: %j", async (form, told) => {
      const { text, warning } = (await asking(form)) ?? {};
      expect([text, warning]).toEqual([JSON.stringify(told), undefined]);
    });

    it("are refused where the model knows JSON alone", async () => {
      expect(await asking({ type: "regex", regex: "a+" }, "of-json")).toMatchObject({
        error: { code: "unsupported_parameter", fields: [`${at}.regex`] },
      });
    });

    it("are left out, with a warning, where the operator says so", async () => {
      const { text, warning } = (await asking({ type: "regex", regex: "a+" }, "ignoring")) ?? {};
      expect(text).toBe("[null,null,null,null]");
      expect(warning).toMatch(/\.regex: not supported by this model, ignored/);
    });

    it.each([
      ["choice", { type: "choice" }],
      ["choice[1]", { type: "choice", choice: ["yes", ""] }],
      ["choice", { type: "choice", choice: Array(1025).fill("a") }],
      ["regex", { type: "regex", regex: "" }],
      ["regex", { type: "regex", regex: "a".repeat(16385) }],
      ["grammar", { type: "grammar", choice: ["a"] }],
      ["choice", { type: "json_object", choice: ["a"] }],
    ])("have what belongs to their type, and nothing else: %s", async (field, form) => {
      const { error } = (await asking(form)) ?? {};
      expect(error?.code).toBe("invalid_fields");
      expect(error?.fields).toContain(`${at}.${field}`);
    });
  },
);
