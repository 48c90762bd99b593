/** What requests say, as Cohere's API has it in its second version. */
import { address, png } from "../asked.js";
import type { Forms } from "../wire.js";
import { completionForms } from "./completions.js";

const { "named tool": _, ...same } = completionForms;

/** Cohere's. */
export const cohereForms: Forms = {
  ...same,
  top_p: { p: 0.75 },
  top_k: { k: 17 },
  stop: { stop_sequences: ["HALT", "END"] },
  conversation: {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "How is the weather?" },
      {
        role: "assistant",
        tool_calls: [
          {
            ...{ id: "call_0001", type: "function" },
            function: { name: "get_weather", arguments: '{"city":"Rome"}' },
          },
        ],
      },
      { role: "tool", tool_call_id: "call_0001", content: "It rains." },
      { role: "assistant", content: "Rain." },
      { role: "user", content: "Sure?" },
    ],
  },
  thoughts: {
    messages: [{ role: "assistant", content: [{ type: "thinking", thinking: "It looks wet." }] }],
  },
  image: { messages: [{ content: [{ type: "image_url", image_url: { url: png } }] }] },
  "image's address": { messages: [{ content: [{ image_url: { url: address } }] }] },
  // It has no choice of one; its provider offers that one alone.
  "named tool": { tools: [{ function: { name: "get_time" } }], tool_choice: "REQUIRED" },
  "some tool": { tools: [{}, {}], tool_choice: "REQUIRED" },
  "no tool": { tools: [{}, {}], tool_choice: "NONE" },
};
