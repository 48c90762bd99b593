/** What an operator can set about administration. */
import type { IssuedToken } from "../settings.js";

/** What the methods of administration go by. */
export interface MethodSettings {
  readonly policy: TokenPolicy;
  /** Within which changes of tokens reach every gateway, milliseconds; absent: that is not known. */
  readonly refreshMs?: number | undefined;
  /** Whether records of calls are kept. */
  readonly keepsUsage: boolean;
  /** By whose clocks hours, days and months of usage are, by its name. Default: UTC. */
  readonly timeZone?: string | undefined;
}

/** Who may administer a gateway, and what its configuration says of tokens. */
export interface AdminSettings extends MethodSettings {
  /** Tokens of administrators. */
  readonly tokens: readonly Pick<IssuedToken, "name" | "hash" | "from" | "expiresAt">[];
  /** Longest time that one call may take, milliseconds. */
  readonly timeoutMs: number;
}

/** What a configuration says of tokens that are issued besides it. */
export interface TokenPolicy {
  /** Why no token may have this name, in words; absent: it may. */
  refusal(name: string): string | undefined;
  /** What may be a mistake about members of this team, in words; `undefined`: of none. */
  teamWarnings(team: string | undefined): string[];
  /** What may be a mistake about a token that may be used from these addresses alone, in words; absent: from everywhere. */
  fromWarnings(from: readonly string[] | undefined): string[];
  /** What may be a mistake about any token that is issued, in words. */
  warnings(): string[];
}
