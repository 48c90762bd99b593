/** Where a stream of OpenAI's form ends. */
import { ReadableStream, type ReadableStreamDefaultReader } from "node:stream/web";
import { StrayErrors } from "./stray-errors.js";

/** The line that ends a stream. Inside of an event's JSON a line can't begin with it. */
const marker = /[\r\n]data:[ \t]*\[DONE\][ \t]*[\r\n]/;
/** Bytes of what came that may be the marker's beginning. */
const longest = 32;

/** What a server may still send after it, in bytes and milliseconds: its connection stays usable then. */
const drainBytes = 64 * 1024;
const drainMs = 1000;

/**
 * The bytes up to `data: [DONE]`: some servers send more after it, or leave the connection
 * open. Those of vendors that have no such marker pass as they are. An error that stands in no
 * event gets one, and is the end, too.
 */
export function untilDone(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const errors = new StrayErrors();
  let before = "\n";
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) {
          const error = errors.end();
          if (error) controller.enqueue(Buffer.from(error));
          return controller.close();
        }
        const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
        const text = before + bytes.toString("latin1");
        const error = errors.push(bytes, text);
        if (error) {
          // What begins behind it would be cut short: to readers an event without data.
          const lines = 1 + Math.max(bytes.lastIndexOf("\n"), bytes.lastIndexOf("\r"));
          controller.enqueue(Buffer.concat([bytes.subarray(0, lines), Buffer.from(error)]));
          controller.close();
          return void drain(reader);
        }
        const found = marker.exec(text);
        if (!found) {
          before = text.slice(-longest);
          return controller.enqueue(value);
        }
        const end = found.index + found[0].length - before.length;
        controller.enqueue(value.subarray(0, end));
        // The blank line after it may not have come, and readers wait for it.
        controller.enqueue(Buffer.from("\n\n"));
        controller.close();
        void drain(reader);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Reads the rest, which nobody waits for; lets go of the connection if there is no end of it. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), drainMs);
  try {
    let left = drainBytes;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      left -= read.value.length;
      if (left < 0) await reader.cancel();
    }
  } catch {
    // It broke off, or was aborted: all that matters had come.
  } finally {
    clearTimeout(timer);
  }
}
