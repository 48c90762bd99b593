/** Gateways as a user starts them, in front of a server that answers no chat. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { folder, type Lintel, start } from "./lintel.js";

/** Kills a process when the test is over, if it still runs. */
export function killAfter(lintel: Lintel): void {
  onTestFinished(async () => {
    if (lintel.running) lintel.kill("SIGKILL");
    await lintel.ended;
  });
}

/** Closes a server when the test is over. */
export function closeAfter(server: Server): void {
  onTestFinished(() => server.close().closeAllConnections());
}

/** A server that lists one model and answers no chat: calls to it stay open. */
export async function silentServer(): Promise<{ url: string; asked: Promise<void> }> {
  let ask: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const server = createServer((request, response) => {
    if (request.url !== "/v1/models") return ask();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: [{ id: "tiny", object: "model" }] }));
  });
  closeAfter(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A gateway in front of that server, once it listens. */
export async function gateway(more = "", stderr?: number) {
  const server = await silentServer();
  const cwd = folder({
    "lintel.yaml": `listen: 127.0.0.1:0
backends: [{ type: openai, name: remote, url: "${server.url}", models: [tiny] }]
${more}`,
  });
  const lintel = start([], cwd, {}, { stderr });
  killAfter(lintel);
  const [, base = ""] = await lintel.until(/ on (http:\S+)\n[\s\S]*curl [\s\S]*\n.*-d .*\n/);
  return { lintel, base, server, cwd };
}
