/** What there is to tell of calls that models got as well whose answers nobody sees. */
import type { AttemptRecord, Attributes } from "./call-attributes.js";
import type { MethodName } from "./methods.js";

/** A call that a mirror was asked, once it is over. */
export interface Mirrored {
  /** As the mirror was asked. */
  readonly method: MethodName;
  /** Of the call itself, which may still run. */
  readonly of: Readonly<Attributes>;
  readonly record: Readonly<AttemptRecord>;
  /** Tokens and images of the mirror's answer. */
  readonly attributes: Readonly<Attributes>;
  /** What that costs, in billionths of the price table's unit; absent: the mirror's model has no price. */
  readonly spend: number | undefined;
}

/**
 * Why a mirror was not asked: as many mirrored calls run as may, or real ones take all places there;
 * it failed too often, asked to be left alone, has used up its quota, or has not loaded its model; the backend has no
 * such model; or the model can't do what is asked, or is a target of the call.
 */
export type WhyNot = "full" | "out" | "no_model" | "unfit";

/** A call that a mirror was to be asked, and is not. */
export interface NotMirrored {
  /** Of the call itself. */
  readonly of: Readonly<Attributes>;
  readonly backend: string;
  /** Name by which the backend knows the model, with its `*` where callers can give the call's any number of names. */
  readonly model: string;
  readonly why: WhyNot;
}
