/** What a scenario is. */
import type { Contestant } from "../contestants/contestant.js";

/** A figure of one contestant in one round, by name; see `report.ts` for the names' units. */
export type Figures = Record<string, number>;

/** One round of one scenario. */
export interface Stage {
  readonly folder: string;
  /** Port of the model server. */
  readonly upstream: number;
  /** A free port. */
  port(): number;
  /** Seconds that one measurement takes. */
  readonly seconds: number;
  /** What `streams.c` became. */
  readonly streams: string;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Who takes part; the names are also those of the results. */
  readonly contestants:
    | readonly Contestant[]
    | readonly { readonly name: string; readonly missing?: string | undefined }[];
  /** Measures one contestant once. */
  measure(stage: Stage, contestant: string): Promise<Figures>;
}
