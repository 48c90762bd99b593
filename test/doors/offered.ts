/** A tool that is offered, and calls of it. */

/** What the tool takes. */
export const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

/** The tool. */
export const weather = {
  type: "function",
  function: { name: "weather", description: "The weather.", parameters, strict: true },
};

/** A form of the answer. */
export const format = {
  type: "json_schema",
  json_schema: { name: "place", description: "A place.", schema: parameters, strict: false },
};

/** Two calls of it. */
export const calls = [
  { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
  { id: "b", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
];
