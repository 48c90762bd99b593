// The least that a gateway on Fastify does for a whole answer: reads JSON, writes it for the
// model server, reads the answer and writes it anew. Usage: node fastify-proxy.mjs PORT UPSTREAM
import fastify from "fastify";
import { Pool } from "undici";
import { later } from "./together.mjs";

const [port, upstream] = process.argv.slice(2);
const pool = new Pool(`http://127.0.0.1:${upstream}`, { connections: 2048 });
const headers = ["content-type", "application/json"];

const ask = (body) =>
  new Promise((resolve, reject) => {
    const parts = [];
    pool.dispatch(
      { path: "/v1/chat/completions", method: "POST", headers, body },
      {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData: (_, bytes) => parts.push(bytes),
        onResponseEnd: () => resolve(JSON.parse(Buffer.concat(parts).toString("utf8"))),
        onResponseError: (_, error) => reject(error),
      },
    );
  });

const app = fastify({ logger: false });
app.post("/v1/chat/completions", async (request, reply) => {
  const { model, messages, stream } = request.body;
  const asked = messages.map(({ role, content }) => ({ role, content }));
  const { id, object, created, choices, usage } = await ask(
    JSON.stringify({ model, messages: asked, stream }),
  );
  const [{ message, finish_reason }] = choices;
  const { role, content } = message;
  const choice = { index: 0, message: { role, content }, finish_reason };
  const answer = JSON.stringify({ id, object, created, model, choices: [choice], usage });
  await new Promise(later);
  reply.header("x-request-id", request.id).type("application/json; charset=utf-8");
  return reply.send(answer);
});
app.listen({ port: Number(port), host: "127.0.0.1" });

// Node writes a profile only when it exits by itself.
process.on("SIGTERM", () => process.exit());
