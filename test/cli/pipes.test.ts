/**
 * Named pipes, sockets and devices where files are meant. To open a pipe waits for who writes into it, so each
 * is met in a process of its own, which can be ended.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { folderOf } from "../backends/onnx/support.js";
import { runHere } from "./here.js";
import { build, entry, folder, run, start } from "./lintel.js";

beforeAll(build);

const lintel = [process.execPath, entry];
const pipe = (path: string) => execFileSync("mkfifo", [path]);

/** What `lintel check` says of a configuration. */
async function checked(cwd: string, file = "lintel.yaml"): Promise<string[]> {
  const lintel = start(["check", "-c", file], cwd);
  onTestFinished(() => lintel.kill("SIGKILL"));
  const { code } = await lintel.ended;
  expect(code).toBe(1);
  return lintel.stderr.trimEnd().split("\n");
}

test("a configuration in a named pipe, a socket or a device is a mistake", async () => {
  const cwd = folder();
  pipe(join(cwd, "pipe.yaml"));
  const server = createServer().listen(join(cwd, "socket.yaml"));
  onTestFinished(() => void server.close());
  expect(await checked(cwd, "pipe.yaml")).toEqual(["pipe.yaml: is a named pipe, not a file"]);
  expect(await checked(cwd, "socket.yaml")).toEqual(["socket.yaml: is a socket, not a file"]);
  expect(await checked(cwd, "/dev/zero")).toEqual(["/dev/zero: is a device, not a file"]);
});

test("one that is piped to the command, and /dev/null, are read", async () => {
  const piped = execFileSync("sh", ["-c", 'echo "{}" | "$0" "$1" check -c /dev/stdin', ...lintel]);
  expect(piped.toString()).toBe("/dev/stdin: ok\n");
  expect(await run(["check", "-c", "/dev/null"])).toMatchObject({
    code: 0,
    stdout: "/dev/null: ok\n",
  });
});

test("certificates, keys and workflows in named pipes are mistakes", async () => {
  const cwd = folder({
    "lintel.yaml": `tls: { cert: pipe, key: pipe }
backends:
  - type: comfyui
    name: c
    url: http://127.0.0.1:8188
    models: [{ name: m, file: pipe, map: { prompt: 6.text } }]
`,
  });
  pipe(join(cwd, "pipe"));
  expect(await checked(cwd)).toEqual([
    "lintel.yaml:1:14: tls.cert: the file pipe is a named pipe, not a file",
    "lintel.yaml:1:25: tls.key: the file pipe is a named pipe, not a file",
    "lintel.yaml:6:31: backends[0].models[0].file: the workflow pipe is a named pipe, not a file",
  ]);
});

test("models whose files are named pipes are refused, and hold up neither the start nor the end", async () => {
  const cwd = folder();
  pipe(join(cwd, "chat.gguf"));
  const models = ["model_index.json", "unet/model.onnx", "tokenizer/tokenizer.json"].map(
    (file, i) => {
      const copy = join(cwd, `image-${i}`);
      cpSync(folderOf("tiny"), copy, { recursive: true });
      rmSync(join(copy, file));
      pipe(join(copy, file));
      return copy;
    },
  );
  const good = join(cwd, "good");
  cpSync(folderOf("tiny"), good, { recursive: true });
  mkdirSync(join(good, "loras"), { recursive: true });
  pipe(join(good, "loras", "piped.safetensors"));
  const named = [join(cwd, "chat.gguf"), ...models, good].flatMap((path) => ["--model", path]);
  const node = start(["node", "--listen", "127.0.0.1:0", ...named], cwd);
  onTestFinished(() => node.kill("SIGKILL"));
  const [url = ""] = await node.until(/http:\/\/127\.0\.0\.1:\d+/);

  const states = async () => {
    const { stdout } = await runHere(["models", "--json", "--server", url]);
    const all = JSON.parse(stdout) as { id: string; state: string; state_detail: string }[];
    return Object.fromEntries(
      all.map(({ id, state, state_detail: why }) => [id, why === "" ? state : why]),
    );
  };
  await expect.poll(states, { timeout: 20_000 }).toEqual({
    chat: "chat.gguf: is a named pipe, not a file",
    "image-0": "model_index.json: is a named pipe, not a file",
    "image-1": "unet/model.onnx: is a named pipe, not a file",
    "image-2": "tokenizer/tokenizer.json: is a named pipe, not a file",
    good: "ready",
  });
  const image = ["image", "a circle", "--server", url, "-m", "good", "--lora", "piped=1"];
  const { stderr } = await runHere(image);
  expect(stderr).toBe("lintel: loras: loras/piped.safetensors: is a named pipe, not a file\n");
  node.kill("SIGTERM");
  expect(await node.ended).toEqual({ code: 0, signal: null });
});
