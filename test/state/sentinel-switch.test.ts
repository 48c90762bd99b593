/** What a sentinel says of a new primary while it is asked for one: its words have an order that no real one keeps. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { openCounting } from "../../src/state/counting.js";
import { type RedisServer, redisBinary, startRedis } from "../support/redis.js";

const name = "lintel-main";
const list = (...words: (string | number)[]) =>
  `*${words.length}\r\n${words.map((word) => `$${`${word}`.length}\r\n${word}\r\n`).join("")}`;

/** A sentinel that says who the primary is when, and what, it is told to. */
class Scripted {
  /** Who asked for the primary and waits. */
  readonly asking: Socket[] = [];
  readonly listening = new Set<Socket>();
  /** What happens before it says that it is listened to. */
  onListen = () => {};
  /** Port of the primary; absent: who asks waits. */
  primary: number | undefined;
  readonly #server = createServer((socket) => {
    socket.setEncoding("latin1").on("data", (text: unknown) => {
      // Commands come whole: they are small, and few.
      for (const command of `${text}`.split(/(?=\*\d+\r\n)/)) this.#answer(socket, command);
    });
    socket.on("error", () => {}).on("close", () => this.listening.delete(socket));
  });

  async open(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void this.#server.close());
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #answer(socket: Socket, command: string): void {
    if (command.includes("get-master-addr-by-name")) {
      if (this.primary === undefined) this.asking.push(socket);
      else socket.write(list("127.0.0.1", this.primary));
    } else if (command.includes("subscribe")) {
      this.onListen();
      this.listening.add(socket);
      socket.write("*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
    } else if (command.includes("sentinels")) socket.write("*0\r\n");
    else socket.write("+OK\r\n");
  }
}

/** Two servers that know nothing of each other, and a sentinel that takes the first one for the primary. */
async function watched() {
  const [old, next] = [await startRedis(), await startRedis()];
  onTestFinished(() => old.close());
  onTestFinished(() => next.close());
  const sentinel = new Scripted();
  sentinel.primary = old.port;
  return { old, next, sentinel };
}

/** The stores of a gateway. */
async function opened(sentinel: Scripted) {
  const sentinels = [await sentinel.open()];
  const redis = { url: `redis://${name}`, sentinels, onFailure: "closed", replicas: 1 } as const;
  const settings = { limits: { models: [] }, callersOwn: false, redis };
  const counting = await openCounting(settings, silent);
  onTestFinished(() => counting.close());
  return { available: () => counting.limits.state.available };
}

describe.skipIf(!redisBinary)("a Redis that Sentinel watches", () => {
  it("is found where it became another one just before the sentinel was listened to", async () => {
    const { old, next, sentinel } = await watched();
    sentinel.onListen = () => {
      sentinel.primary = next.port;
    };
    const { available } = await opened(sentinel);
    /** Without the one that asks. */
    const clients = ({ port }: RedisServer) =>
      execFileSync("redis-cli", ["-p", `${port}`, "client", "list"], { encoding: "utf8" })
        .trim()
        .split("\n").length - 1;
    await vi.waitFor(() => expect([clients(old), clients(next)]).toEqual([0, 1]));
    await vi.waitFor(() => expect(available()).toBe(true));
  });

  it.each(["of before", "of then"])(
    "is found where it is said to be another while it is asked for, with the answer %s",
    async (answer) => {
      const { old, next, sentinel } = await watched();
      const { available } = await opened(sentinel);
      await vi.waitFor(() => expect([available(), sentinel.listening.size]).toEqual([true, 1]));

      sentinel.primary = undefined;
      await old.kill();
      await vi.waitFor(() => expect(sentinel.asking).toHaveLength(1));
      const said = `${name} 127.0.0.1 ${old.port} 127.0.0.1 ${next.port}`;
      for (const socket of sentinel.listening)
        socket.write(list("message", "+switch-master", said));
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      sentinel.primary = next.port;
      const told = answer === "of before" ? old.port : next.port;
      for (const socket of sentinel.asking) socket.write(list("127.0.0.1", told));
      await vi.waitFor(() => expect(available()).toBe(true));
    },
  );
});
