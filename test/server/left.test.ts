/** HTTP/2 clients that leave without an error, as Node's own do where they are told no other code. */
import { once } from "node:events";
import { constants } from "node:http2";
import { expect, it } from "vitest";
import { frame, open, preface, requestHeaders, settings } from "./frames.js";
import { http1, serve, session, tcp } from "./serve.js";

it.each(["/whole", "/big"])(
  "what waits to be sent to them is dropped: %s",
  async (path) => {
    const { url, drain } = await serve({ timeouts: { stalled: 3_600_000 } });
    const client = session(url);
    const ended = once(client, "close");
    const stream = client.request({ ":path": path });
    await once(stream, "response");
    stream.close(constants.NGHTTP2_NO_ERROR);
    // Node waits for what has come to be read, on this side, too.
    stream.resume();
    // A session ends with its last stream.
    drain();
    await ended;
  },
  10_000,
);

it.each([
  ["whole", 0x5],
  ["without its end", 0x4],
])(
  "nothing is left of a request that is %s and reset in the same breath",
  async (_, flags) => {
    const { port, drain } = await serve({ timeouts: { stalled: 40, notice: 0 } });
    const socket = tcp(port).resume();
    const ended = once(socket, "close");
    socket.write(Buffer.concat([preface, settings, open(1)]));
    await once(socket, "data");
    const reset = (stream: number) => frame(3, 0, stream, Buffer.alloc(4));
    const asked = [3, 5, 7].map((id) =>
      Buffer.concat([frame(1, flags, id, requestHeaders), reset(id)]),
    );
    socket.write(Buffer.concat([...asked, reset(1)]));
    expect((await http1({ port, path: "/hello" })).status).toBe(200);
    drain();
    await ended;
  },
  10_000,
);
