/** Callers who come and go: their tokens are made over the network, used, made anew and revoked. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { tokens } from "./configuration.js";

/** How it goes. */
export interface Passing {
  isRunning(): boolean;
  /** Whether the database, or who was asked, was away since, a time of `Date.now()`. */
  wasAway(since: number): boolean;
  /** Whether several processes go by what one of them did, a moment later. */
  readonly several: boolean;
}

/** Makes tokens as long as it runs; counts them, and says what was not as it should be. */
export async function passTokens(
  url: string,
  passed: { made: number; readonly wrong: string[] },
  { isRunning, wasAway, several }: Passing,
): Promise<void> {
  const admin = async (method: string, body: object) => {
    const answer = await fetch(`${url}/lintel.admin.v1.TokensService/${method}`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.ops}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { secret: string };
  };
  const asks = async (secret: string) => {
    const answer = await fetch(`${url}/llm`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "x-request-id": `passing-${randomUUID()}`,
      },
      body: JSON.stringify({ model: "chat", messages: [{ role: "user", content: randomUUID() }] }),
    });
    await answer.text();
    return answer.status;
  };
  while (isRunning()) {
    await pause(500);
    const name = `passing-${randomUUID()}`;
    const since = Date.now();
    try {
      const limits = { requests_per_minute: { amount: 10 } };
      const made = await admin("CreateToken", { name, limits, team: `team-${randomUUID()}` });
      passed.made++;
      const first = await asks(made.secret);
      if (first === 401 && !wasAway(since)) passed.wrong.push("a new token got 401");
      const other = await admin("RotateToken", { token: name });
      await asks(other.secret);
      await admin("RevokeToken", { token: name });
      // Within `state.refresh`.
      if (several) await pause(1500);
      const status = await asks(other.secret);
      if (status !== 401 && !wasAway(since)) passed.wrong.push(`a revoked token got ${status}`);
    } catch (error) {
      if (!wasAway(since)) passed.wrong.push(`tokens: ${(error as Error).message}`);
    }
  }
}
