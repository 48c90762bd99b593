/** Clients that take nothing of what waits to be sent to them. */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { every } from "./every.js";

/** Looks within one timeout: a process that was held up itself must not blame its clients. */
const looks = 4;

/** What a client that reads takes of a stream within one timeout, at the least; bytes. */
const leastTaken = 64 * 1024;

/** What a connection's own counters say; Node's types leave it out. */
interface Handle {
  /** Bytes that were handed to the system, and those among them that it has not taken yet. */
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** Under TLS, which counts a whole write as one. */
  readonly _parent?: Handle;
}

const handleOf = (socket: Socket): Handle | undefined => {
  const handle = (socket as { _handle?: Handle | null })._handle ?? undefined;
  return handle?._parent ?? handle;
};

/** Bytes that the system took. Unlike what a socket tells, it moves within a single write. */
const takenOf = (handle: Handle): number => handle.bytesWritten - handle.writeQueueSize;

/** Bytes that wait to be sent on a connection. */
export const waitingIn = (socket: Socket): number =>
  socket.writableLength + (handleOf(socket)?.writeQueueSize ?? 0);

/**
 * Destroys connections whose client has taken nothing of what waits for it, or has not closed behind our end.
 * @param timeout milliseconds; a quarter more may pass
 * @returns ends it
 */
export function destroyStalled(sockets: Iterable<Socket>, timeout: number): () => void {
  const seen = new WeakMap<Socket, { taken: number; quiet: number }>();
  return every(timeout / looks, () => {
    for (const socket of sockets) {
      const ended = socket.writableFinished;
      // The connection beneath is among them as well, but is not told of an end.
      if (socket instanceof TLSSocket && !ended) continue;
      const handle = handleOf(socket);
      if (!handle || (!ended && waitingIn(socket) === 0)) continue;
      const taken = takenOf(handle);
      const last = seen.get(socket);
      if (last?.taken !== taken) seen.set(socket, { taken, quiet: 0 });
      else if (++last.quiet === looks) socket.destroy();
    }
  });
}

/** A stream that waits. */
interface Waiting {
  /** Bytes. */
  readonly bytes: number;
  /** What of them its client has still to take if it reads as slowly as it may. */
  left: number;
  /** What the connection had taken when the time began that `quiet` counts. */
  taken: number;
  /** Looks at which nothing of the stream itself had changed. */
  quiet: number;
}

/**
 * Whether a stream is over and only Node still has it: where its client has reset it without an error
 * it waits for the rest of the request to be read, and of the answer to be written.
 */
const isForgotten = (stream: ServerHttp2Stream): boolean =>
  stream.closed && stream.state.state === constants.NGHTTP2_STREAM_STATE_IDLE;

/**
 * Ends the streams of a session whose client opens no window for what waits to be sent.
 *
 * Of a write of megabytes nothing is to be seen before all of it is sent. Such a stream
 * lives on while its connection takes enough for all that seem to stand still, for as
 * long as the slowest reader would need.
 * @param timeout milliseconds; a quarter more may pass
 */
export function endStalledStreams(session: ServerHttp2Session, timeout: number): void {
  const handle = handleOf(session.socket);
  const streams = new Map<ServerHttp2Stream, Waiting | undefined>();
  session.on("stream", (stream) => {
    streams.set(stream, undefined);
    stream.on("drain", () => streams.set(stream, undefined));
    stream.on("close", () => streams.delete(stream));
  });
  const stop = every(timeout / looks, () => {
    const taken = handle ? takenOf(handle) : 0;
    const still: [ServerHttp2Stream, Waiting][] = [];
    for (const [stream, waiting] of streams) {
      const bytes = stream.writableLength;
      if (isForgotten(stream)) stream.destroy();
      else if (bytes === 0) streams.set(stream, undefined);
      else if (bytes === waiting?.bytes) still.push([stream, waiting]);
      else streams.set(stream, { bytes, left: bytes, taken, quiet: 0 });
    }
    for (const [stream, waiting] of still) {
      if (++waiting.quiet < looks) continue;
      waiting.left -= leastTaken;
      const reads = taken - waiting.taken >= leastTaken * still.length;
      if (!reads || waiting.left <= 0) stream.close(constants.NGHTTP2_CANCEL);
      waiting.taken = taken;
      waiting.quiet = 0;
    }
  });
  session.on("close", stop);
}
