/** A checker that is a moderation endpoint. */
import { getEventListeners, once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { gate, never } from "../support/calls.js";
import { blue, opened, red } from "./checking.js";

describe("a moderation endpoint", () => {
  /** As OpenAI's reference of `POST /v1/moderations` has it, omni-moderation-latest, 2026. */
  const verdict = (flagged: unknown) => ({
    id: "modr-1",
    model: "omni-moderation-latest",
    results: [{ flagged, categories: { sexual: flagged }, category_scores: { sexual: 0.9 } }],
  });

  /** The address of a server that answers so. */
  async function listening(answer: RequestListener): Promise<string> {
    const http = createServer(answer).listen(0, "127.0.0.1");
    await once(http, "listening");
    onTestFinished(() => {
      http.close();
      http.closeAllConnections();
    });
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }

  async function server(answer: (body: unknown) => { status?: number; body: unknown }) {
    const seen: { path: string | undefined; key: string | undefined; body: unknown }[] = [];
    const url = await listening(async (request, response) => {
      let text = "";
      for await (const part of request) text += part;
      const body = JSON.parse(text);
      seen.push({ path: request.url, key: request.headers.authorization, body });
      const { status = 200, body: said } = answer(body);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
    });
    const checker = await opened({
      type: "moderation",
      url,
      api_key: "sk-secret",
      model: "omni-moderation-latest",
      timeout: 5000,
    });
    return { checker, seen };
  }

  test("is asked about the image inline, and its word counts", async () => {
    const { checker, seen } = await server((body) => ({
      body: verdict(JSON.stringify(body).includes(red.toString("base64"))),
    }));
    expect(await checker.isHarmful(red, never)).toBe(true);
    expect(await checker.isHarmful(blue, never)).toBe(false);
    expect(seen[0]).toEqual({
      path: "/v1/moderations",
      key: "Bearer sk-secret",
      body: {
        model: "omni-moderation-latest",
        input: [
          {
            type: "image_url",
            image_url: { url: `data:image/png;base64,${red.toString("base64")}` },
          },
        ],
      },
    });
  });

  test("is told no key where there is none, and of several results each counts", async () => {
    const flags = [false, true];
    const keys: (string | undefined)[] = [];
    const url = await listening((request, response) => {
      keys.push(request.headers.authorization);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ results: flags.map((flagged) => ({ flagged })) }));
    });
    const checker = await opened({ type: "moderation", url, model: "m", timeout: 5000 });
    const { signal } = new AbortController();
    expect(await checker.isHarmful(red, signal)).toBe(true);
    expect(keys).toEqual([undefined]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("is waited for no more once the checker is closed", async () => {
    const asked = gate();
    const url = await listening(() => asked.open());
    const checker = await opened({ type: "moderation", url, model: "m", timeout: 60_000 });
    const checked = expect(checker.isHarmful(red, never)).rejects.toMatchObject({
      code: "shutting_down",
    });
    await asked.opened;
    await checker.close();
    await checked;
  });

  test("has its time for all of its answer, however it comes", async () => {
    const left = gate();
    const url = await listening((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      // Blanks before a value of JSON, one after the other, as long as somebody takes them.
      const drips = setInterval(() => response.write(" "), 5);
      response.on("close", () => {
        clearInterval(drips);
        left.open();
      });
    });
    const checker = await opened({ type: "moderation", url, model: "m", timeout: 200 });
    await expect(checker.isHarmful(red, never)).rejects.toMatchObject({
      code: "timeout",
      message: "the moderation server took too long",
    });
    await left.opened;
  });

  test.each([
    ["an error", { status: 500, body: { error: { message: "boom" } } }],
    ["no results", { body: { results: [] } }],
    ["no verdict", { body: verdict("maybe") }],
    ["half a verdict", { body: { results: [{ flagged: false }, { flagged: "maybe" }] } }],
    ["something else", { body: [1] }],
  ])("%s is no verdict", async (_, answer) => {
    const { checker } = await server(() => answer);
    const error = await checker.isHarmful(red, never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "upstream_failed" });
    expect(String(error)).not.toMatch(/127\.0\.0\.1|sk-secret/);
  });
});
