/** An exchange whose head has come, with a connection that takes notes. */
import { Exchange } from "../../src/backends/http/exchange.js";

/** Stands where undici stands: takes orders for the connection. */
export class Controller {
  paused = false;
  aborted = false;
  reason: Error | null = null;
  pause() {
    this.paused = true;
  }
  resume() {
    this.paused = false;
  }
  abort(reason: Error) {
    this.aborted = true;
    this.reason = reason;
  }
}

export const some = Buffer.from("x");

/** 1000 ms for the first byte, 100 ms between two reads. `over` resolves when nothing of it is left. */
export function begun() {
  const caller = new AbortController();
  let end = () => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const exchange = new Exchange(caller.signal, 1000, 100, 0, end);
  const controller = new Controller();
  exchange.onRequestStart(controller);
  exchange.onResponseStart(controller, 200, {});
  return { caller, exchange, controller, over };
}
