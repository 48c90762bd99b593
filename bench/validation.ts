/**
 * What the rules of the proto cost a call: the compiled closures of the core
 * beside the protovalidate library. Run by `npm run bench:validation`.
 */
import { create, createRegistry } from "@bufbuild/protobuf";
import { LLMRequestSchema } from "../gen/lintel/v1/chat_pb.js";
import { TextToImageRequestSchema } from "../gen/lintel/v1/image_pb.js";
import { multiple_of } from "../gen/lintel/v1/rules_pb.js";
import type { Violation } from "../src/core/errors.js";
import { compileRules } from "../src/core/rules.js";

const rounds = 7;
const calls = 50_000;
const chat = create(LLMRequestSchema, {
  messages: [{ role: "user", content: "Hello" }],
  temperature: 0.5,
  maxTokens: 100,
});
const image = create(TextToImageRequestSchema, { prompt: "a red circle", width: 512, height: 512 });

/** CPU microseconds of one call of each. */
function measure(run: () => void, times: number): number {
  const start = process.cpuUsage();
  for (let i = 0; i < times; i++) run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / times;
}

const heap = () => process.memoryUsage().rss / 1e6;

const before = heap();
const checkChat = compileRules(LLMRequestSchema, {});
const checkImage = compileRules(TextToImageRequestSchema, {});
const found: Violation[] = [];
const own = () => {
  checkChat(chat, "", found);
  checkImage(image, "", found);
};
const ownFirst = measure(own, 1);
const between = heap();
const { createValidator } = await import("@bufbuild/protovalidate");
const validator = createValidator({ registry: createRegistry(multiple_of) });
const library = () => {
  validator.validate(LLMRequestSchema, chat);
  validator.validate(TextToImageRequestSchema, image);
};
const libraryFirst = measure(library, 1);
const after = heap();

const times: { own: number[]; library: number[] } = { own: [], library: [] };
for (let round = 0; round < rounds; round++) {
  times.own.push(measure(own, calls));
  times.library.push(measure(library, calls));
}
const median = (values: number[]) => values.sort((a, b) => a - b)[rounds >> 1] ?? 0;
const row = (name: string, first: number, all: number[], megabytes: number) =>
  console.log(
    `${name.padEnd(15)}${(first / 1000).toFixed(1).padStart(14)}${(median(all) / 2).toFixed(2).padStart(14)}${megabytes.toFixed(0).padStart(12)}`,
  );
console.log(`Node ${process.version}, medians of ${rounds} interleaved rounds`);
console.log("                first call ms  then µs each   memory MB");
row("compiled", ownFirst, times.own, between - before);
row("protovalidate", libraryFirst, times.library, after - between);
