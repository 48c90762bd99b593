// Passes bytes on between two sockets, without looking at them: no gateway on Node's sockets can
// do with less. Usage: node pipe.mjs PORT UPSTREAM
import { connect, createServer } from "node:net";

const [port, upstream] = process.argv.slice(2).map(Number);

const pass = (from, to) => {
  from.setNoDelay();
  from.on("data", (bytes) => to.write(bytes));
  from.on("end", () => to.end());
  from.on("error", () => to.destroy());
};

createServer((client) => {
  const server = connect(upstream, "127.0.0.1");
  pass(client, server);
  pass(server, client);
}).listen(port, "127.0.0.1");

// Node writes a profile only when it exits by itself.
process.on("SIGTERM", () => process.exit());
