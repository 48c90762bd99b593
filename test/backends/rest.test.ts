import { backendContract } from "./contract.js";
import { failures, gatewaySubject } from "./rest-subject.js";

const methods = ["chat", "complete", "streamTextToImage"] as const;

backendContract("rest", {
  methods,
  failures: Object.fromEntries(
    Object.entries(failures).map(([name, [code]]) => [name, { method: methods, code }]),
  ),
  setup: gatewaySubject,
});
