/** A link to a server of loopback that carries little, and much only when it is let. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** One of them. */
export interface SlowLink {
  readonly port: number;
  /** Resolves once somebody's bytes are held up, with all that comes behind them. */
  readonly held: Promise<void>;
  /** Carries everything from now on. */
  letGo(): void;
  close(): Promise<void>;
}

/** Opens one. @param most bytes that a connection may carry */
export async function slowLink(port: number, most: number): Promise<SlowLink> {
  const open = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let free = false;
  let holds = () => {};
  const held = new Promise<void>((resolve) => {
    holds = resolve;
  });
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    let carried = 0;
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
    far.on("data", (data) => near.write(data));
    near.on("data", (data) => {
      carried += data.length;
      if (free || carried <= most) return far.write(data);
      near.pause();
      waiting.push(() => {
        far.write(data);
        near.resume();
      });
      holds();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as { port: number }).port,
    held,
    letGo() {
      free = true;
      for (const go of waiting.splice(0)) go();
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
