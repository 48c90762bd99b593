/** A tool that is offered, and calls of it. */

export const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};
export const weather = {
  type: "function",
  function: { name: "weather", description: "The weather.", parameters, strict: true },
};
export const format = {
  type: "json_schema",
  json_schema: { name: "place", description: "A place.", schema: parameters, strict: false },
};

export const calls = [
  { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
  { id: "b", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
];
