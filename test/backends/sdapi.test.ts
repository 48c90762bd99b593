import { backendContract } from "./contract.js";
import type { Product } from "./sdapi-server.js";
import { failures, subjectFor } from "./sdapi-subject.js";
import type { Contract } from "./subject.js";

const method = "streamTextToImage";
const contract = (product: Product, more: Partial<Contract> = {}): Contract => ({
  methods: [method],
  ...more,
  setup: () => subjectFor(product),
});

const skips = {
  previews: "it tells nothing before the image is made",
  "hold middle": "it tells nothing before the image is made",
};

backendContract(
  "sdapi, AUTOMATIC1111 and Forge",
  contract("a1111", {
    failures: Object.fromEntries(
      Object.entries(failures).map(([name, [code]]) => [name, { method, code }]),
    ),
  }),
);
backendContract("sdapi, AUTOMATIC1111 that tells no tasks", contract("old"));
backendContract("sdapi, SD.Next", contract("sdnext"));
backendContract("sdapi, stable-diffusion.cpp", contract("sdcpp", { skips }));
backendContract("sdapi, KoboldCpp", contract("koboldcpp", { skips }));
