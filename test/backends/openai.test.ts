import { backendContract } from "./contract.js";
import { echoSubject, failures } from "./openai-subject.js";

const answering = ["chat", "complete", "streamTextToImage"] as const;
const contract = {
  methods: [...answering, "countTokens"] as const,
  failures: Object.fromEntries(
    Object.entries(failures).map(([name, [code]]) => [name, { method: answering, code }]),
  ),
};

backendContract("openai, images by a diffusion server", {
  ...contract,
  skips: { previews: "these servers have none" },
  setup: () => echoSubject("flux"),
});

backendContract("openai, images by Together AI", {
  ...contract,
  methods: answering,
  skips: { previews: "it has none" },
  setup: () => echoSubject("stabilityai/stable-diffusion-xl-base-1.0", "together"),
});

backendContract("openai, images by gpt-image", {
  ...contract,
  skips: { seeds: "OpenAI takes no seed" },
  setup: () => echoSubject("gpt-image-2"),
});
