/** Connections on their way to a worker. */
import type { ChildProcess } from "node:child_process";

/** What Node's cluster says to a worker, and hears of it. Not documented. */
interface Internal {
  readonly cmd?: unknown;
  readonly act?: unknown;
  readonly seq?: number;
  readonly ack?: number;
}

interface Connection {
  close(): void;
}

type Send = (message: Internal, connection?: Connection, ...more: unknown[]) => boolean;

/**
 * Knows the connections that Node handed to a worker which has not said yet that it took them.
 * Of one that ends before it does, Node forgets them: they would stay open, and nobody answer.
 */
export class Handover {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, Connection>();

  constructor(process: ChildProcess) {
    this.#process = process;
    const send = process.send?.bind(process) as Send;
    const noting: Send = (message, connection, ...more) => {
      const { cmd, act, seq } = message;
      const handed = cmd === "NODE_CLUSTER" && act === "newconn" && seq !== undefined;
      if (handed && connection) this.#pending.set(seq, connection);
      return send(message, connection, ...more);
    };
    process.send = noting as ChildProcess["send"];
    process.on("internalMessage", ({ ack }: Internal) => {
      if (ack !== undefined) this.#pending.delete(ack);
    });
  }

  /**
   * The worker has ended.
   * @param others whether another one takes connections: then it gets these, of which nothing was read
   */
  end(others: boolean): void {
    // With a connection on its way Node does not say so: cluster, which hears it once, would hand it further ones.
    this.#process.emit("disconnect");
    for (const [ack, connection] of this.#pending) {
      // As a worker says it that takes no more.
      if (others)
        this.#process.emit("internalMessage", { cmd: "NODE_CLUSTER", ack, accepted: false });
      else connection.close();
    }
    this.#pending.clear();
  }
}
