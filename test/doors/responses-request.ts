/** Requests to `POST /v1/responses`, and what a backend is asked for them. */
import { expect } from "vitest";
import { says, scripted } from "../support/scripted.js";
import { saysTokens } from "../support/tokens.js";
import { json, serve } from "./serve.js";

export const path = "/v1/responses";

/** Posts requests, and tells what the backend was asked for the last one. */
export async function posting() {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  return { post: (body: object) => server.post(path, body), asked: () => backend.asked.at(-1) };
}

/** What a backend is asked for a request that is answered, without any warning. */
export async function askedFor(body: object) {
  const backend = scripted({ chat: saysTokens("Hi") });
  const { post } = await serve(backend);
  const response = await post(path, body);
  expect(await json(response)).toMatchObject({ object: "response" });
  expect(response.headers.get("x-lintel-warnings")).toBeNull();
  return backend.asked[0];
}
