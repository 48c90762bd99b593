/** How sessions of HTTP/2 end in good order. */
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Timeouts } from "./settings.js";

/**
 * A GOAWAY that leaves no stream out: "begin none from now on" (RFC 9113, 6.8). Node has none:
 * behind its `goaway`, whatever it names as the last stream, nghttp2 drops all that comes.
 */
const notice = Buffer.from("0000080700000000007fffffff00000000", "hex");

/** What ends a session; each may be called again, and does nothing then. */
export interface Farewell {
  /**
   * Ends it so that no call is lost: its client is told to begin no more, and those that were on their way are
   * served. `close` alone drops them, of which most proxies make a 502.
   *
   * Over TLS it only closes: there a write beside the session's own ends the process.
   */
  leave(): void;
  /** Begins no more streams, whether its client knows that or not, and ends with the last one. */
  close(): void;
}

/**
 * Gives what ends a session, and ends one that has no streams for too long. Node's own timeout does not ask
 * whether a stream is only waiting for its answer.
 * @param socket what the session runs on
 */
export function farewell(
  session: ServerHttp2Session,
  socket: Socket,
  timeouts: Pick<Timeouts, "idleSession" | "notice" | "parting">,
): Farewell {
  const overTls = socket instanceof TLSSocket;
  let open = 0;
  /** When the last stream ended. */
  let ended = Number.NEGATIVE_INFINITY;
  let left = false;
  let closing = false;
  /** What follows where no stream comes. */
  let quiet: NodeJS.Timeout | undefined;
  let hearing: NodeJS.Timeout | undefined;

  const end = session.close.bind(session);
  // Node's client over TLS gives up what was not read yet of answers that are complete, where the
  // connection's end comes in one read with theirs. So it is left to the client, which closes as well.
  const part = () => {
    const still = overTls ? ended + timeouts.parting - performance.now() : 0;
    if (still > 0) quiet = setTimeout(end, still);
    else end();
  };
  const close = () => {
    if (closing || session.destroyed) return;
    closing = true;
    session.goaway();
    if (open > 0) return;
    clearTimeout(quiet);
    part();
  };
  const leave = () => {
    if (left || closing) return;
    left = true;
    if (overTls) return close();
    hearing = setTimeout(close, timeouts.notice);
    // What a session says first, its settings, is written by then.
    setImmediate(() => {
      if (closing || session.destroyed || !socket.writable) return close();
      // Frames are never split over two writes, so this one comes between two of them.
      socket.write(notice);
      // What its client began before it read the notice comes ahead of its answer to this.
      session.ping(close);
    });
  };
  const idle = () => {
    quiet = setTimeout(() => {
      leave();
      // A client that does not answer the goodbye has no say in it.
      quiet = setTimeout(() => session.destroy(), timeouts.idleSession);
    }, timeouts.idleSession);
  };
  session.on("stream", (stream) => {
    open++;
    clearTimeout(quiet);
    stream.on("close", () => {
      if (--open > 0 || session.destroyed) return;
      ended = performance.now();
      if (closing) part();
      else idle();
    });
  });
  session.on("close", () => {
    clearTimeout(quiet);
    clearTimeout(hearing);
  });
  // Node calls it when the client says goodbye, as it does in answer to ours.
  session.close = close;
  idle();
  return { leave, close };
}
