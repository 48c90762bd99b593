/** What a listener keeps of connections: nothing, once they are closed. */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, Socket } from "node:net";
import { queryObjects } from "node:v8";
import { expect, it } from "vitest";
import { http2, serve } from "./serve.js";

it.each([
  [
    "HTTP/1",
    async (port: number) => {
      // Nor is it held here, as what ends with a test is.
      const socket = connect(port, "127.0.0.1");
      socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
      await once(socket, "data");
      socket.destroy();
      await once(socket, "close");
    },
  ],
  [
    "HTTP/2",
    async (port: number) => {
      const client = connectHttp2(`http://127.0.0.1:${port}`);
      expect((await http2(client, {})).status).toBe(200);
      const echo = { ":method": "POST", ":path": "/echo", "content-type": "text/plain" };
      expect((await http2(client, echo, "body")).body).toBe("body");
      client.close();
      await once(client, "close");
    },
  ],
])("nothing of those that are closed: %s", async (_, visit) => {
  const { port } = await serve();
  const visits = 50;
  // Collects what nothing holds, and counts the others.
  const sockets = () => queryObjects(Socket, { format: "count" });
  await visit(port);
  const before = sockets();
  for (let i = 0; i < visits; i++) await visit(port);
  await expect.poll(sockets).toBeLessThan(before + visits / 2);
});
