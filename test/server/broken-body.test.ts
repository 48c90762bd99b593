/** Requests over HTTP/1 whose bodies can't be read to their end. */
import { once } from "node:events";
import { expect, it } from "vitest";
import { ended, http1, serve, tcp } from "./serve.js";

const head = (path: string, framing: string) =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\nx-request-id: mine-1\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;
const length = "content-length: 500";
const chunked = "transfer-encoding: chunked";

it.each([
  ["ends before its length", length, "{", "the body is incomplete"],
  ["ends before it begins", length, "", "the body is incomplete"],
  ["ends without the last chunk", chunked, "1\r\n{\r\n", "the body is incomplete"],
  ["is not in the form of chunks", chunked, "what\r\n", "the body can't be read"],
])("one that %s is told so, under the caller's id", async (_, framing, body, message) => {
  const { port } = await serve();
  const socket = tcp(port);
  socket.end(head("/echo", framing) + body);
  const answer = await ended(socket);
  expect(answer).toMatch(/^HTTP\/1.1 400 .*^x-request-id: mine-1\r$/ms);
  expect(answer).toContain(`"message":"${message}"`);
  expect(answer).toContain('"code":"invalid_json"');
});

it("one that was answered before its body came is not answered again", async () => {
  const { port } = await serve();
  const socket = tcp(port);
  const answer = ended(socket);
  socket.write(`${head("/nothing", length)}{`);
  await once(socket, "data");
  // By then the server is through with the answer.
  await http1({ port, path: "/hello" });
  socket.end();
  expect((await answer).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 404"]);
});

it("what follows a request and is none is told so", async () => {
  const { port } = await serve();
  const socket = tcp(port);
  const answer = ended(socket);
  socket.once("data", () => socket.end("what\r\n\r\n"));
  socket.write("GET /hello HTTP/1.1\r\nhost: a\r\n\r\n");
  expect(await answer).toMatch(/hello.*HTTP\/1.1 400 .*"this is no HTTP request"/s);
});

it("what follows a request whose answer has begun is not answered in the middle of that", async () => {
  const { port, holding } = await serve();
  const socket = tcp(port);
  const answer = ended(socket);
  socket.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n");
  await holding(1);
  socket.write("what\r\n\r\n");
  expect((await answer).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
});
