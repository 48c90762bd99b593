/** Logs some lines, for `logger.test.ts`, then ends as its argument says. */

import { createLogger, logWriter } from "../../src/cli/logger.js";
import { LintelError } from "../../src/core/errors.js";
import { Refusal } from "../../src/core/log.js";

const writer = logWriter();
const log = createLogger("info", writer);
for (let n = 1; n <= 300; n++) log.info({ n }, "line");
if (process.argv[2] === "said") log.warn({ n: 0, said: "x".repeat(1_000_000) }, "refused");
switch (process.argv[2]) {
  case "exit":
    process.exit(3);
    break;
  case "throw":
    throw new Error("nobody caught it");
  case "stay":
    process.stdin.resume();
    break;
  case "failed": {
    const refused = Object.assign(new Error("connect 127.0.0.1:1"), {
      code: "ECONNREFUSED",
      syscall: "connect",
    });
    const away = new LintelError("upstream_unreachable", "nobody is there", { cause: refused });
    const fault = new LintelError("internal", "an internal error", {
      cause: new TypeError("no x"),
    });
    for (const err of [
      away,
      refused,
      fault,
      new Refusal("it is full"),
      new Error("of a library"),
      "a word",
    ])
      log.warn({ err }, "failed");
    break;
  }
  case "warned":
    process.emitWarning("version 20\nis old", "OldWarning");
    for (let n = 0; n < 3; n++) console.warn("a needless %s", "password");
    console.error(new Error("of a library").message);
    break;
  case "more":
    process.stdin.once("data", () => {
      for (let n = 301; n <= 600; n++) log.info({ n }, "line");
    });
    break;
  case "long":
    // Once all before it is written.
    process.stdin.once("data", () => {
      log.info({ n: 301 }, "line");
      log.info({ n: 302, much: "x".repeat(2 * 1024 * 1024) }, "line");
      log.info({ n: 303 }, "line");
    });
    break;
  case "flood":
    for (let n = 301; n <= 3000; n++) log.info({ n, much: "x".repeat(1000) }, "line");
    process.stdin.resume();
    process.stdout.write("flooded\n");
    break;
  case "relayed":
    for (let n = 301; n <= 3000; n += 10) {
      const one = (_: unknown, i: number) =>
        `${JSON.stringify({ n: n + i, much: "x".repeat(1000) })}\n`;
      writer.write(Array.from({ length: 10 }, one).join(""));
    }
    process.stdin.resume();
    process.stdout.write("flooded\n");
    break;
  case "blocked":
    for (let n = 301; n <= 3000; n++) log.info({ n, much: "x".repeat(1000) }, "line");
    process.exit(3);
}
