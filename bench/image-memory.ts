/**
 * How much memory the gateway takes while 200 callers ask for an image of 2 MB
 * at once. Target: under 600 MB at the most. Run by `npm run bench:image-memory`;
 * fails if it is more, or if an image is not what the server made.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import { sanitizePng } from "../src/media/png.js";

const callers = 200;
const most = 600;
const folder = mkdtempSync(join(tmpdir(), "lintel-memory-"));

/** Noise does not compress: a picture of about 2 MB. */
function noise(): Buffer {
  const image = new PNG({ width: 832, height: 832 });
  let state = 1;
  for (let i = 0; i < image.data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    image.data[i] = i % 4 === 3 ? 255 : state >>> 24;
  }
  return PNG.sync.write(image, { colorType: 2 });
}

const picture = noise();
const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const wanted = digest(sanitizePng(picture));
const body = JSON.stringify({ created: 1, data: [{ b64_json: picture.toString("base64") }] });

/** Answers when all callers have asked: the worst that can come. */
const waiting: (() => void)[] = [];
const server = createServer(async (request, response) => {
  request.resume();
  await once(request, "end");
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data: [{ id: "painter", object: "model" }] }));
    return;
  }
  const answer = () => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(body);
  };
  waiting.push(answer);
  if (waiting.length === callers) for (const go of waiting.splice(0)) go();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

writeFileSync(
  join(folder, "lintel.yaml"),
  `listen: 127.0.0.1:0
state: { directory: ${join(folder, "state")} }
log: { level: error }
backends:
  - { type: openai, name: images, url: "http://127.0.0.1:${(server.address() as AddressInfo).port}", image_models: [painter], models: [painter], connections: 256 }
`,
);
const entry = fileURLToPath(new URL("../dist/src/main.js", import.meta.url));
const gateway = spawn(process.execPath, [entry, "serve", "-c", join(folder, "lintel.yaml")], {
  stdio: ["ignore", "pipe", "inherit"],
});
const url = await addressOf(gateway);
const memory = (field: string) =>
  Number(
    new RegExp(`${field}:\\s+(\\d+) kB`).exec(
      readFileSync(`/proc/${gateway.pid}/status`, "utf8"),
    )?.[1],
  ) / 1000;

const before = memory("VmRSS");
const started = performance.now();
const digests = await Promise.all(
  Array.from({ length: callers }, async () => {
    const response = await fetch(`${url}/text-to-image`, {
      method: "POST",
      headers: { authorization: "Bearer me", "content-type": "application/json" },
      body: JSON.stringify({ model_id: "painter", prompt: "noise", safety_check: false }),
    });
    const answer = (await response.json()) as { images?: { url: string }[] };
    const address = answer.images?.[0]?.url;
    if (!address) throw new Error(`status ${response.status}: ${JSON.stringify(answer)}`);
    return address;
  }),
).then(async (addresses) => {
  const seen = new Set<string>();
  for (const address of addresses) {
    seen.add(digest(new Uint8Array(await (await fetch(address)).arrayBuffer())));
  }
  return seen;
});
const seconds = (performance.now() - started) / 1000;
const peak = memory("VmHWM");
gateway.kill();
await once(gateway, "exit");
server.close();
rmSync(folder, { recursive: true, force: true });

const right = digests.size === 1 && digests.has(wanted);
console.log(
  `${callers} images of ${(picture.length / 1e6).toFixed(2)} MB at once, Node ${process.version}: ` +
    `${before.toFixed(0)} MB before, ${peak.toFixed(0)} MB at the most (target ${most}), ${seconds.toFixed(1)} s; ` +
    `images are ${right ? "what the server made" : "NOT what the server made"}`,
);
process.exit(right && peak < most ? 0 : 1);

async function addressOf(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const part of child.stdout ?? []) {
    text += part;
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
    if (found) return found[0];
  }
  throw new Error("the gateway ended");
}
