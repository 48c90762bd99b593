// Passes requests on to one origin. Usage: node bare-proxy.mjs PORT UPSTREAM
import { createServer } from "node:http";
import { Pool } from "undici";

const [port, upstream] = process.argv.slice(2);
const pool = new Pool(`http://127.0.0.1:${upstream}`, { connections: 2048 });
const headers = { "content-type": "application/json" };

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
          response.writeHead(status, answer);
        },
        onResponseData(_, bytes) {
          response.write(bytes);
        },
        onResponseEnd() {
          response.end();
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
