/** grpc-js as most of its users have it: the contract loaded as it stands in `proto/`. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { credentials, loadPackageDefinition, Metadata, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../doors/serve.js";
import { paints, says, scripted } from "../support/scripted.js";

const files = ["chat", "image", "models"].map((name) => `lintel/v1/${name}.proto`);
const loaded = loadPackageDefinition(
  loadSync(files, { includeDirs: ["proto"], defaults: true, oneofs: true }),
);

/** What is made of a service at run time has no types. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Untyped = any;

const metadata = new Metadata();
metadata.set("authorization", "Bearer me");

async function clientOf(service: string): Promise<Untyped> {
  const { url } = await serve(
    scripted({ chat: says("Hi", " there"), streamTextToImage: paints() }),
  );
  const { v1 } = loaded.lintel as Untyped;
  const client = new v1[service](new URL(url).host, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

test("completes, and draws with all its bounds known", async () => {
  const chat = await clientOf("ChatService");
  const request = { messages: [{ role: "user", content: "Hello" }] };
  const answer = await new Promise<Untyped>((resolve, reject) => {
    chat.Complete(request, metadata, (error: ServiceError | null, value: Untyped) =>
      error ? reject(error) : resolve(value),
    );
  });
  expect(answer.choices[0].message.content).toBe("Hi there");

  const images = await clientOf("TextToImageService");
  const details = await new Promise<string>((resolve) => {
    images.TextToImage({ prompt: "a cat", width: 65 }, metadata, (error: ServiceError) =>
      resolve(error.details),
    );
  });
  expect(details).toContain("width: must be a multiple of 8");
  const kinds: string[] = [];
  for await (const event of images.StreamTextToImage({ prompt: "a cat" }, metadata)) {
    kinds.push(event.event);
  }
  expect(kinds).toContain("image");
});

test("streams by the lines of docs/contract.md", async () => {
  const { url } = await serve(scripted({ chat: says("Hi", " there") }));
  const [, sample = ""] =
    /```js\n(.*?)```/s.exec(
      readFileSync("docs/contract.md", "utf8").split("\n## Clients")[1] ?? "",
    ) ?? [];
  const program = sample.replace("127.0.0.1:8080", new URL(url).host);
  const args = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe("Hi there");
});
