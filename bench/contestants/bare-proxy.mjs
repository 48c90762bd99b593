// Passes requests on to one origin. Usage: node bare-proxy.mjs PORT UPSTREAM [together]
// together: what it answers in one turn of the event loop is written at the turn's end.
import { createServer } from "node:http";
import { Pool } from "undici";
import { later } from "./together.mjs";

const [port, upstream, together] = process.argv.slice(2);
const pool = new Pool(`http://127.0.0.1:${upstream}`, { connections: 2048 });
const headers = { "content-type": "application/json" };

const writing = together ? later : (write) => write();

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    pool.dispatch(
      { path: request.url, method: request.method, headers, body: body.length ? body : null },
      {
        onRequestStart() {},
        onResponseStart(_, status, head) {
          const answer = { "content-type": head["content-type"] };
          if (head["content-length"]) answer["content-length"] = head["content-length"];
          writing(() => response.writeHead(status, answer));
        },
        onResponseData(_, bytes) {
          writing(() => response.write(bytes));
        },
        onResponseEnd() {
          writing(() => response.end());
        },
        onResponseError() {
          response.destroy();
        },
      },
    );
  });
}).listen(Number(port), "127.0.0.1");

// Node writes a profile only when it exits by itself.
process.on("SIGTERM", () => process.exit());
