/** A gateway before an OpenAI-compatible server with one model, `m`, that streams what it is told to. */
import { backendFor } from "../backends/openai-subject.js";
import { opened, serve as upstream } from "../backends/serve.js";
import { serve } from "../doors/serve.js";

/**
 * Its address.
 * @param events objects, or texts that are written as they are
 */
export async function streamed(events: readonly (string | object)[]): Promise<string> {
  const server = await upstream((exchange) =>
    exchange.request.method === "GET"
      ? exchange.sendJson(200, { data: [{ id: "m" }] })
      : exchange.stream(...events).then(() => exchange.end()),
  );
  return (await serve(opened(backendFor(server.url)))).url;
}
