import { backendContract } from "./contract.js";
import { echoSubject, failures } from "./openai-subject.js";

const methods = ["chat", "complete", "streamTextToImage"] as const;

backendContract("openai", {
  methods,
  failures: Object.fromEntries(
    Object.entries(failures).map(([name, [code]]) => [name, { method: methods, code }]),
  ),
  setup: echoSubject,
});
