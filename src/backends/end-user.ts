/** Whom calls are for, as far as the operator lets model servers know. */
import { createHash } from "node:crypto";
import * as z from "zod";

/** Whether a server is told, and how. */
export type PassUser = "never" | "hashed" | "plain";

/**
 * The setting of a backend.
 * @param usual where it is not set: `never` where the server is a vendor's
 */
export const passUser = (usual: PassUser) =>
  z
    .enum(["never", "hashed", "plain"])
    .default(usual)
    .describe(
      "Whether it is told the user that a request names: never, as its SHA-256 in hex, or as the caller wrote it.",
    );

/** OpenAI takes no longer one. */
export const longestOfOpenai = 64;

/** What vendors are told in the place of what callers write: its SHA-256 in hex, 64 characters. */
export const hashed = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * What a server is told of a user; `undefined`: nothing.
 * @param user as the contract has it: empty where nobody is named
 * @param longest most characters that it takes, at least 64: a longer one goes hashed
 */
export function toldUser(user: string, pass: PassUser, longest = Infinity): string | undefined {
  if (user === "" || pass === "never") return undefined;
  return pass === "hashed" || user.length > longest ? hashed(user) : user;
}
