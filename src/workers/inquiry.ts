/** What the first process asks its workers while they serve. */
import type { MetricsForm } from "../core/telemetry.js";
import type { Status } from "../telemetry/status.js";
import type { Texts, ToPrimary, ToWorker } from "./messages.js";
import { Questions } from "./questions.js";
import type { Slot } from "./slot.js";

/** Longest that a worker is waited for with its metrics, or how it stands, milliseconds. */
const metricsMs = 1000;
/** The same with how many calls it has. */
const callsMs = 250;

type Reply = Extract<ToPrimary, { readonly id: number }>;

/** Questions to workers, one by one or all together. */
export class Inquiry {
  readonly #slots: readonly Slot[];
  readonly #questions = new Questions<Slot, Reply>();

  constructor(slots: readonly Slot[]) {
    this.#slots = slots;
  }

  /**
   * Asks one that listens.
   * @param mostMs longest that it is waited for, milliseconds; absent: until it ends
   * @returns `undefined` if it does not listen, ends, or takes too long
   */
  async ask(
    slot: Slot,
    question: (id: number) => ToWorker,
    mostMs?: number,
  ): Promise<Reply | undefined> {
    if (!slot.listens) return undefined;
    return this.#questions.ask(slot, (id) => slot.process?.tell(question(id)), mostMs);
  }

  answered(reply: Reply): void {
    this.#questions.answered(reply.id, reply);
  }

  /** One answers no more. */
  ended(slot: Slot): void {
    this.#questions.ended(slot);
  }

  /** How many calls run in all of them; of one that hangs it is not known. */
  async calls(): Promise<number> {
    const all = this.#slots.map(async (slot) => {
      const reply = await this.ask(slot, (id) => ({ lintel: "calls", id }), callsMs);
      return reply?.lintel === "calls" ? reply.calls : 0;
    });
    return (await Promise.all(all)).reduce((sum, calls) => sum + calls, 0);
  }

  /** The metrics of all of them, but for those that hang, in the order of their numbers. */
  async metrics(form: MetricsForm): Promise<Texts> {
    const texts = new Map<number, string>();
    const all = this.#slots.map(async (slot) => {
      const reply = await this.ask(slot, (id) => ({ lintel: "metrics", id, form }), metricsMs);
      if (reply?.lintel === "metrics") texts.set(slot.number, reply.text);
    });
    await Promise.all(all);
    return new Map([...texts].sort(([a], [b]) => a - b));
  }

  /** How all of them stand, but for those that hang, in the order of their numbers. */
  async statuses(): Promise<Status[]> {
    const all = this.#slots.map(async (slot) => {
      const reply = await this.ask(slot, (id) => ({ lintel: "status", id }), metricsMs);
      return reply?.lintel === "status" ? (reply.status ?? []) : [];
    });
    return (await Promise.all(all)).flat();
  }
}
