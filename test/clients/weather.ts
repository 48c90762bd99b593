/** Models that ask for the weather, or write a patch, and say what they are told. */
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

/** Calls the custom tool `patch`, and then says what came of it. */
export const patchBackend = (): Scripted =>
  scripted({
    async *chat(call) {
      const last = call.request.messages.at(-1);
      const pieces = [toolCall(0, "c1", "patch", '{"input":"a\\n'), toolCall(0, "", "", 'b"}')];
      const handle =
        last?.role === "tool"
          ? says("It is ", last.content)
          : callsTools(...pieces.map((it) => [it]));
      yield* handle(call);
    },
  });

/** The conversation as it has to reach a model when that tool was asked. */
export const toldPatch = [
  { role: "user", content: "Hello" },
  {
    role: "assistant",
    toolCalls: [{ id: "c1", function: { name: "patch", arguments: '{"input":"a\\nb"}' } }],
  },
  { role: "tool", content: "done", toolCallId: "c1" },
];

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
