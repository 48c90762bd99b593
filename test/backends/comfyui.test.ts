import { comfySubject, failures } from "./comfyui-subject.js";
import { backendContract } from "./contract.js";

const method = "streamTextToImage";

backendContract("comfyui", {
  methods: [method],
  failures: Object.fromEntries(
    Object.entries(failures).map(([name, [code]]) => [name, { method, code }]),
  ),
  setup: () => comfySubject(),
});

backendContract("comfyui of before 2025", {
  methods: [method],
  setup: () =>
    comfySubject((comfy) => {
      comfy.old = true;
    }),
});

backendContract("comfyui without a websocket", {
  methods: [method],
  skips: {
    previews: "they come over the websocket",
    "hold middle": "steps come over the websocket",
  },
  setup: () =>
    comfySubject((comfy) => {
      comfy.deaf = true;
    }),
});
