/** What administration answers in JSON, as far as the console reads it. Numbers of 64 bits are texts there. */

/** A limit: how much, no end to it, or (absent) what all callers have. */
export interface Limit {
  readonly amount?: string | number;
  readonly unlimited?: boolean;
  /** Of budgets. */
  readonly period?: string;
}

/** A token, without what it is written as. */
export interface Token {
  readonly id: string;
  readonly name: string;
  readonly state: "STATE_ACTIVE" | "STATE_EXPIRED" | "STATE_REVOKED";
  readonly models: readonly string[];
  readonly team: string;
  readonly limits?: Readonly<Record<string, Limit | undefined>>;
  readonly create_time?: string;
  readonly expire_time?: string;
  readonly from_addresses: readonly string[];
  /** The caller who made it; empty: an administrator. */
  readonly owner: string;
}

export interface ListTokens {
  readonly tokens: readonly Token[];
  readonly next_page_token: string;
}

/** A token that was made, or made anew. */
export interface Made {
  readonly token: Token;
  /** What its holder calls with; told this once. */
  readonly secret: string;
  readonly warnings?: readonly string[];
}

/** What calls that are alike in `group` used together. */
export interface UsageRow {
  readonly group: Readonly<Record<string, string>>;
  readonly calls: string;
  readonly failed: string;
  readonly prompt_tokens: string;
  readonly completion_tokens: string;
  readonly images: string;
  readonly spend: number;
  readonly mean_duration_ms: number;
}

export interface QueryUsage {
  readonly rows: readonly UsageRow[];
  readonly next_page_token: string;
  readonly warnings: readonly string[];
}

/** Calls a method of administration. @param name as in `TokensService/ListTokens` */
export type Administer = <T>(name: string, body: object) => Promise<T>;

/** Milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

/** A model of a backend, as routing sees it. */
export interface TargetStatus {
  readonly backend: string;
  readonly model: string;
  readonly state: string;
  readonly out_for_ms: number;
  readonly in_flight: number;
  /** Absent: any number. */
  readonly max_in_flight?: number;
  readonly waiting: number;
  readonly attempts: string;
  readonly failures: string;
  readonly last_failure: string;
  readonly first_ms?: Percentiles;
  readonly total_ms?: Percentiles;
}

/** How much of a budget is used. */
export interface BudgetStatus {
  readonly scope: string;
  readonly name: string;
  /** Of budgets of what a caller asks of some models; empty: another. */
  readonly caller: string;
  /** Likewise of a team. */
  readonly team: string;
  readonly period: string;
  readonly amount: number;
  readonly used: number;
  /** When it begins anew; absent: never. */
  readonly reset_time?: string;
}

/** How a gateway stands. */
export interface Status {
  readonly version: string;
  readonly workers: number;
  /** A duration, as in `61.5s`. */
  readonly uptime: string;
  readonly running: number;
  readonly models: readonly { readonly call_rate: number; readonly token_rate: number }[];
  readonly targets: readonly TargetStatus[];
  readonly away: readonly string[];
  readonly last_reload?: { readonly successful: boolean };
  /** The nearest to their end first. */
  readonly budgets: readonly BudgetStatus[];
}
