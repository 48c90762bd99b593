/** What is made of what ComfyUI says that went wrong. */
import { expect, it } from "vitest";
import { executionFailure, refusalOf } from "../../src/backends/comfyui/failure.js";
import { outputsIn } from "../../src/backends/comfyui/history.js";
import { readMessage } from "../../src/backends/comfyui/messages.js";

const long = "x".repeat(5000);

it("a refusal of a thousand nodes is told in 500 characters", () => {
  const errors = [{ message: "Required input is missing", extra_info: { input_name: "clip" } }];
  const node_errors = Object.fromEntries(
    Array.from({ length: 1000 }, (_, i) => [i, { class_type: "CLIPTextEncode", errors }]),
  );
  const { message = "" } = refusalOf(JSON.stringify({ node_errors }), {}) ?? {};
  expect(message).toMatch(/refused the workflow: node 0 \(CLIPTextEncode\), clip: required input/);
  expect(message.length).toBeLessThan(600);
});

it("of what a node said the log gets no more than 2000 characters", () => {
  const details = { node_id: "5", node_type: "KSampler", exception_message: long };
  const { message, cause } = executionFailure(details);
  expect(message).toContain("failed in node 5 (KSampler)");
  expect((cause as Error).message).toHaveLength(2000);
});

it("of a prompt that was interrupted the history says so", () => {
  const of = (name: string) => () =>
    outputsIn({
      status: {
        status_str: "error",
        messages: [
          ["execution_start", {}],
          [name, {}],
        ],
      },
    });
  expect(of("execution_interrupted")).toThrow("was interrupted in its work");
  expect(of("execution_cached")).toThrow("failed in its work");
});

it.each([
  ["steps below 0", { type: "progress", data: { prompt_id: "a", value: -1, max: 20 } }],
  ["steps that are none", { type: "progress", data: { prompt_id: "a", value: "x", max: 20 } }],
  ["the end of nobody's prompt", { type: "executing", data: { node: null } }],
])("a message of %s is none", (_, message) => {
  expect(readMessage(JSON.stringify(message))).toBeUndefined();
});
