/** What has to hold while something is away: whoever asks is answered, and who operates the gateway hears the truth. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Agent, request } from "undici";
import { tokens } from "./configuration.js";

/** What others stand in for: not model servers, whose place is taken by such as may be out for their own reasons. */
const looked = /^(Redis|PostgreSQL|bucket|a worker|disk)/;
/** Who is asked so often; a connection that a worker was handed which stands still waits with it. */
const times = 4;
/** Longest that one waits, milliseconds: what stands still may hold it up for its time, and a busy machine for longer. */
const patienceMs = 30_000;

/** What to hold on to. */
export interface Held {
  readonly url: string;
  /** The configuration's file. */
  readonly file: string;
  readonly wrong: string[];
}

/** Looks while something is away; tells in `wrong` what did not hold. */
export async function hold(what: string, { url, file, wrong }: Held): Promise<void> {
  if (!looked.test(what)) return;
  // Connections of its own: those that are there may be a worker's that stands still.
  const dispatcher = new Agent();
  const ask = async (path: string, body?: object) => {
    const { statusCode, body: answer } = await request(url + path, {
      dispatcher,
      method: body ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${tokens.steady}`,
        "content-type": "application/json",
        connection: "close",
      },
      ...(body && { body: JSON.stringify(body) }),
      reset: true,
      signal: AbortSignal.timeout(patienceMs),
    });
    await answer.dump();
    return `${statusCode}`;
  };
  const most = async (name: string, path: string, body?: object) => {
    const all = Array.from({ length: times }, () =>
      ask(path, body).catch((error: Error) => error.message),
    );
    const answers = await Promise.all(all);
    if (answers.filter((answer) => answer === "200").length < times / 2)
      wrong.push(`while ${what}: ${name}: ${answers.join(", ")}`);
  };
  const prompt = { messages: [{ role: "user", content: "Hello" }] };
  const inline = { prompt: "a dot", size: "64x64", response_format: "b64_json" };
  await Promise.all([
    most("readiness", "/readyz"),
    most("chat", "/llm", { model: "chat", ...prompt }),
    most("an image inline", "/v1/images/generations", { model: "image", ...inline }),
    ...(/^PostgreSQL/.test(what) ? [tellsOfUsage(what, file, wrong)] : []),
  ]);
  await dispatcher.close();
}

/** `lintel usage` comes to an end, with what it found or with a word about what is away. */
async function tellsOfUsage(what: string, file: string, wrong: string[]): Promise<void> {
  const args = ["dist/src/main.js", "usage", "--config", file, "--format", "json"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    timeout: 30_000,
  }).catch((error: { stdout: string; stderr: string }) => error);
  const found = /^\[/.test(stdout);
  if (!found && !/^lintel: PostgreSQL can't be used: .+\n$/.test(stderr))
    wrong.push(`while ${what}: lintel usage: ${stdout.slice(0, 100)}${stderr.slice(0, 300)}`);
}
