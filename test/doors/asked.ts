/** What becomes of requests in the forms of others. */
import { expect } from "vitest";
import type { LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import { says, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

/** Posts a body, which is answered: what a backend is asked, and what the answer warns of. */
export async function asked(
  path: string,
  body: object | string,
): Promise<{ request: LLMRequest; warnings: string[] }> {
  const backend = scripted({ chat: says("Hi") });
  const server = await serve(backend);
  const answer = await server.post(path, body);
  expect([answer.status, answer.status === 200 || (await answer.text())]).toEqual([200, true]);
  const { warnings = [] } = await json(answer);
  return { request: backend.asked[0] as LLMRequest, warnings };
}
