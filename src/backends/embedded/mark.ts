/** How the child process knows that it is one, and what it is told at its start. */
import { isObject, parseJson } from "../../core/json.js";
import type { EngineReport } from "../engine-progress.js";

/**
 * Variable in its environment. The channel alone does not tell: process managers
 * open one too, and end what they started with signals.
 */
export const embeddedMark = "LINTEL_EMBEDDED";

/** Whether this process is the child of a gateway that runs. */
export function isEmbedded(): boolean {
  return process.send !== undefined && process.env[embeddedMark] !== undefined;
}

/** A model that is not to be loaded for now. */
export interface HeldBack {
  readonly model: string;
  /** What its files were when loading them ended the process. */
  readonly stamp: string;
  /** For how long, milliseconds from now. */
  readonly ms: number;
  /** How the process ended, in words. */
  readonly ending: string;
}

/** What a child is told: the variable's value, as JSON. */
export interface Orders {
  /** Whether models are loaded one at a time, so that it is known which one ends the process. */
  readonly oneByOne: boolean;
  readonly heldBack: readonly HeldBack[];
}

/** What this child was told. */
export function ordersOf(environment: NodeJS.ProcessEnv): Orders {
  const told = parseJson(environment[embeddedMark] ?? "");
  return isObject(told) && Array.isArray(told.heldBack)
    ? (told as unknown as Orders)
    : { oneByOne: false, heldBack: [] };
}

/** What a child says of a load, over the channel, before it begins and when it is over. */
export type LoadReport =
  | { readonly lintel: "loading"; readonly model: string; readonly stamp: string }
  | { readonly lintel: "loaded"; readonly model: string };

/** All that a child says over the channel. */
export type Report =
  | LoadReport
  | { readonly lintel: "listening" }
  /** It was asked whether it is there; `work` is what its engines are in the middle of. */
  | { readonly lintel: "alive"; readonly work: readonly EngineReport[] };
