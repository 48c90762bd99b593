/**
 * What coding agents send with each of their turns: long instructions, many tools, and all that was said and done
 * before, some 400 KB.
 */

/** Turns before this one: a call of a tool, and what came of it. */
const turns = 60;

/** So many letters of text, as source code has them: with quotes and line ends. @param arrow what there may be besides ASCII */
function lines(letters: number, about: string, arrow = "->"): string {
  const line = `  const value = await read("${about}", { retries: 3 }); // ${arrow} as before\n`;
  return line.repeat(Math.ceil(letters / line.length)).slice(0, letters);
}

const instructions = lines(20_000, "rules", "→");

/** A tool as the others, with a schema of its arguments. */
function tool(index: number) {
  const names = ["path", "pattern", "before", "after", "limit", "reason"];
  const fields = names.map((name) => [
    name,
    { type: name === "limit" ? "integer" : "string", description: lines(100, name) },
  ]);
  return {
    name: `tool_${index}`,
    description: lines(1000, `tool ${index}`),
    schema: {
      type: "object",
      properties: Object.fromEntries(fields),
      required: ["path"],
      additionalProperties: false,
    },
  };
}

const tools = Array.from({ length: 30 }, (_, index) => tool(index));

/** What was called and said in a turn. */
const done = Array.from({ length: turns }, (_, turn) => ({
  id: `call_${turn}`,
  name: `tool_${turn % tools.length}`,
  input: { path: `src/file-${turn}.ts`, before: lines(300, "old"), after: lines(300, "new") },
  result: lines(4000, `file ${turn}`, turn % 4 === 0 ? "→" : undefined),
}));

const ask = "Go on until the tests pass.";

/** By OpenAI's chat completions. */
export const agentChat = (model: string): string =>
  JSON.stringify({
    model,
    messages: [
      { role: "system", content: instructions },
      { role: "user", content: ask },
      ...done.flatMap(({ id, name, input, result }) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id, type: "function", function: { name, arguments: JSON.stringify(input) } },
          ],
        },
        { role: "tool", tool_call_id: id, content: result },
      ]),
    ],
    tools: tools.map(({ name, description, schema: parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
    max_tokens: 64,
  });

/** By Anthropic's messages. */
export const agentMessages = (model: string): string =>
  JSON.stringify({
    model,
    system: [{ type: "text", text: instructions }],
    messages: [
      { role: "user", content: [{ type: "text", text: ask }] },
      ...done.flatMap(({ id, name, input, result }) => [
        { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
      ]),
    ],
    tools: tools.map(({ name, description, schema: input_schema }) => ({
      name,
      description,
      input_schema,
    })),
    max_tokens: 64,
  });

/** By OpenAI's responses. */
export const agentResponses = (model: string): string =>
  JSON.stringify({
    model,
    instructions,
    input: [
      { role: "user", content: [{ type: "input_text", text: ask }] },
      ...done.flatMap(({ id, name, input, result }) => [
        { type: "function_call", call_id: id, name, arguments: JSON.stringify(input) },
        { type: "function_call_output", call_id: id, output: result },
      ]),
    ],
    tools: tools.map(({ name, description, schema: parameters }) => ({
      type: "function",
      ...{ name, description, parameters, strict: false },
    })),
    max_output_tokens: 64,
  });
