/** What a core does as one of its calls begins, goes on and ends. */
import type { Call, Handle } from "./call.js";
import type { CallSignal } from "./cancellation.js";
import type { ErrorCode } from "./error-table.js";
import type { LintelError } from "./errors.js";
import type { InFlight } from "./in-flight.js";
import type { Life } from "./life.js";
import { logCall } from "./log-call.js";
import type { MethodName, Output } from "./methods.js";
import type { Hooks } from "./observe.js";
import type { CoreSettings } from "./settings.js";
import type { CallOutcome } from "./telemetry.js";
import { Transcript } from "./transcript.js";

/** What calls of one core share. */
export interface Shared {
  readonly handle: Handle;
  readonly inFlight: InFlight;
  readonly callLog: CoreSettings["callLog"];
}

/** The course of one call: a class, since a stream would keep a closure for each of these. */
export class Course implements Hooks<readonly Output<MethodName>[]> {
  readonly whole: boolean;
  readonly #call: Call;
  readonly #life: Life;
  readonly #caller: CallSignal;
  readonly #shared: Shared;
  readonly #said: Transcript | undefined;

  /** @param caller aborted when the caller leaves */
  constructor(call: Call, life: Life, caller: CallSignal, shared: Shared) {
    this.whole = call.method === "complete";
    this.#call = call;
    this.#life = life;
    this.#caller = caller;
    this.#shared = shared;
    const wanted = shared.callLog.content || call.observation?.wantsContent;
    this.#said = wanted ? new Transcript(call) : undefined;
  }

  start(): ReturnType<Handle> {
    return this.#shared.handle(this.#call);
  }

  settled(): "ok" | ErrorCode | undefined {
    return this.#life.settled;
  }

  begin(): void {
    this.#shared.inFlight.add(this.#life);
    this.#life.begin(this.#caller, this.#call.deadline as number);
  }

  saw(batch: readonly Output<MethodName>[]): void {
    this.#said?.add(batch);
  }

  end(outcome: CallOutcome, error: LintelError | undefined): void {
    this.#life.end(outcome.code, error);
    this.#shared.inFlight.delete(this.#life);
    const { work } = this.#life;
    if (work) this.#tellAfter(work, outcome, error);
    else this.#tell(outcome, error);
  }

  // Apart, so that calls without a key make nothing for it.
  #tellAfter(work: Promise<void>, outcome: CallOutcome, error: LintelError | undefined): void {
    void work.then(() => this.#tell(outcome, error));
  }

  #tell(outcome: CallOutcome, error: LintelError | undefined): void {
    this.#call.observation?.end(this.#call, outcome, this.#said?.answer());
    const { sample, content } = this.#shared.callLog;
    if (!error && sample !== 1 && Math.random() >= sample) return;
    logCall(this.#call, outcome, error, content ? this.#said?.fields() : undefined);
  }
}
