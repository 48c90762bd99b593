/** The process of a worker, as the first one has it. */
import cluster, { type Worker } from "node:cluster";
import { getSystemErrorName } from "node:util";
import { Heartbeat, type HeartbeatTimes } from "../heartbeat.js";
import { Handover } from "./handover.js";
import { type ToPrimary, type ToWorker, workerVariable } from "./messages.js";
import { relay } from "./relay.js";

/** What it says, but for its being there. */
export type Said = Exclude<ToPrimary, { readonly lintel: "beat" }>;

/** What becomes of it. */
export interface ProcessEvents {
  said(message: Said): void;
  /** It takes no more connections. @returns whether others do */
  gone(): boolean;
  /** It does nothing any more, and is being killed. */
  hangs(forMs: number): void;
  /** It is gone, and all that it wrote was handed on. */
  ended(how: string): void;
}

/** A process that runs, from its start on. */
export class WorkerProcess {
  readonly #worker: Worker;

  /**
   * @param lines takes whole lines that it writes to stderr
   * @throws as Node does if the system lets no process begin
   */
  constructor(events: ProcessEvents, lines: (text: string) => void, times: HeartbeatTimes) {
    this.#worker = cluster.fork({ [workerVariable]: "1" });
    const { process } = this.#worker;
    const handover = new Handover(process);
    relay(process.stderr, lines);
    // Nothing but the banner, which comes as a message.
    process.stdout?.resume();
    let heartbeat: Heartbeat | undefined;
    const hangs = () => {
      events.hangs(times.beatMs * times.missed);
      this.kill();
    };
    this.#worker.on("message", (message: ToPrimary) => {
      // Not before: what a slow disk holds up while it loads does not hang.
      heartbeat ??= new Heartbeat(() => this.tell({ lintel: "beat" }), hangs, times);
      heartbeat.answered();
      if (message.lintel !== "beat") events.said(message);
    });
    this.#worker.on("error", () => {});
    // Behind the last of what it wrote.
    process.on("close", (code, signal) => {
      heartbeat?.end();
      handover.end(events.gone());
      // The system let no process begin.
      const never = code !== null && code < 0 && `before it began: ${getSystemErrorName(code)}`;
      events.ended(never || (signal ? `by ${signal}` : `with ${code}`));
    });
  }

  /** Whether it can be told something. One that can't is about to end, or has, and gets no more connections. */
  get connected(): boolean {
    return this.#worker.isConnected();
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  tell(message: ToWorker): void {
    if (this.connected) this.#worker.send(message, () => {});
  }

  kill(): void {
    this.#worker.process.kill("SIGKILL");
  }
}
