/** Whole answers of the JSON doors, where something is wrong with them on this side. */
import fastify from "fastify";
import { expect, it } from "vitest";
import type { Running } from "../../src/core/gateway.js";
import type { Output } from "../../src/core/methods.js";
import { fromFastify, sendError } from "../../src/doors/json/error.js";
import { headersOf } from "../../src/doors/json/headers.js";
import { sendWhole } from "../../src/doors/json/reply.js";

const list = { $typeName: "lintel.v1.ListModelsResponse", models: [] } as Output<"listModels">;

/** What a client gets of a call. */
async function answered(messages: readonly Output<"listModels">[], encode: () => string) {
  const running: Running<"listModels"> = {
    ...{ id: "req-1", model: undefined, warnings: [], metadata: new Map([["x-told", "1"]]) },
    counts: {},
    messages: (async function* () {
      if (messages.length > 0) yield messages;
    })(),
  };
  const app = fastify();
  app.setErrorHandler((thrown, _, reply) => sendError(reply, fromFastify(thrown)));
  app.get("/", (_, reply) => sendWhole(reply, running, encode));
  const { statusCode, headers, json, body } = await app.inject("/");
  return { statusCode, headers, body, error: statusCode === 200 ? undefined : json().error };
}

it("has the call's headers", async () => {
  expect(await answered([list], () => "{}")).toMatchObject({
    statusCode: 200,
    headers: { "x-request-id": "req-1", "x-told": "1", "content-length": "2" },
    body: "{}",
  });
});

it("tells warnings as long as a header may be, which ends in no blank", () => {
  const running = { id: "req-1", warnings: [`${"x".repeat(1999)} y`], metadata: new Map() };
  const headers = headersOf(running as unknown as Running<"listModels">);
  expect(headers["x-lintel-warnings"]).toBe("x".repeat(1999));
});

it("that can't be written is an error", async () => {
  const broken = () => {
    throw new Error("broken");
  };
  expect(await answered([list], broken)).toMatchObject({
    statusCode: 500,
    error: { code: "internal" },
  });
});

it("without a message is an error, which has the call's id", async () => {
  expect(await answered([], () => "{}")).toMatchObject({
    statusCode: 500,
    headers: { "x-request-id": "req-1" },
    error: { code: "internal" },
  });
});
