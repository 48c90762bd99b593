import { chatFailures, imageFailures, vendorSubject } from "./ai-sdk-subject.js";
import { backendContract } from "./contract.js";
import type { Failure } from "./subject.js";

const failuresOf = (
  failures: typeof chatFailures,
  method: Failure["method"],
): Record<string, Failure> =>
  Object.fromEntries(Object.entries(failures).map(([name, [code]]) => [name, { method, code }]));

const chats = ["chat", "complete"] as const;

backendContract("ai-sdk, chat by Anthropic", {
  methods: [...chats, "countTokens"],
  failures: failuresOf(chatFailures, chats),
  setup: () => vendorSubject("anthropic"),
});

backendContract("ai-sdk, images by fal", {
  methods: ["textToImage"],
  failures: failuresOf(imageFailures, "textToImage"),
  setup: () => vendorSubject("fal"),
});
