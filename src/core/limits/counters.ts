/** How counters are called. */
import { hash } from "node:crypto";
import type { Counter } from "./store.js";

/** What is counted. Spend in billionths of the price table's unit. */
export type Quantity = "requests" | "tokens" | "images" | "concurrent" | "spend";

/** How counters of a scope are called. */
export const scopes = {
  gateway: "global",
  /** @param id `Caller.id` */
  caller: (id: string) => `caller:${id}`,
  /**
   * Of what one caller asks of some models.
   * @param id `Caller.id`
   * @param name of an entry of the configuration
   */
  callerModel: (id: string, name: string) => `caller-model:${hashOf(id, name)}`,
  /**
   * Of what one team asks of some models.
   * @param team `Caller.team`
   * @param name of an entry of the configuration
   */
  teamModel: (team: string, name: string) => `team-model:${hashOf(team, name)}`,
  /**
   * Of one end user of a caller.
   * @param id `Caller.id`
   * @param user `Attributes.user`
   */
  user: (id: string, user: string) => `user:${hashOf(id, user)}`,
  /** @param name `Caller.team` */
  team: (name: string) => `team:${name}`,
  /** @param name of an entry of the configuration */
  model: (name: string) => `model:${name}`,
} as const;

/** A caller and its user, or a caller or a team and a model, as one text, which says where the first ends. */
export const pairOf = (id: string, other: string) => `${id.length}:${id}${other}`;

/**
 * Both names are others' own, may be long, and have any characters: a hash of the two is short, no pair's is that of
 * another, and stores need not know whom callers serve.
 */
const hashOf = (id: string, other: string) => hash("sha256", pairOf(id, other), "base64url");

/**
 * Name of a counter in every store. Under another name it begins at 0 again.
 * @param scope one of `scopes`
 */
export function counterKey(scope: string, quantity: Quantity, span: Counter["span"]): string {
  // A budget of another period is another counter.
  const budget = quantity === "spend" && span.type === "calendar";
  return `${scope}:${budget ? `${quantity}-${span.period}` : quantity}`;
}
