/** A model that asks for the weather, and says what it is told. */
import { toolCall } from "../../src/core/tool-calls.js";
import { callsTools, piece, type Scripted, says, scripted } from "../support/scripted.js";

/** Says that it looks, calls `weather` for Rome, and then says what came of it. */
export const weatherBackend = (): Scripted =>
  scripted({
    async *chat(call) {
      const last = call.request.messages.at(-1);
      if (last?.role === "tool") {
        yield* says("It is ", last.content)(call);
        return;
      }
      yield [piece("I look")];
      const pieces = [toolCall(0, "c1", "weather", '{"city":'), toolCall(0, "", "", '"Rome"}')];
      yield* callsTools(...pieces.map((it) => [it]))(call);
    },
  });

/** JSON Schema of what `weather` takes. */
export const citySchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;

/** The conversation as it has to reach a model when the tool was asked. */
export const toldWeather = [
  { role: "user", content: "Hello", toolCalls: [] },
  {
    ...{ role: "assistant", content: "I look" },
    toolCalls: [{ id: "c1", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
  },
  { role: "tool", content: "sunny", toolCallId: "c1" },
];
