/** What methods of administration work with. */
import type { GetStatusResponse } from "../../../gen/lintel/admin/v1/status_pb.js";
import type { StoredToken } from "../callers/store.js";
import { invalidFields, type Violation } from "../errors.js";
import type { AdminInput, AdminMethod, AdminOutput } from "./methods.js";
import type { MethodSettings } from "./settings.js";
import type { AdminState } from "./state.js";

/** What a method works with. */
export interface Work {
  readonly state: AdminState;
  readonly settings: MethodSettings;
  /** How the gateway stands. */
  status(): Promise<GetStatusResponse>;
  /** What the rules of the fields found. Methods add to it, and throw it. */
  readonly found: Violation[];
  /** Notes which token a call is about, for the log. */
  about(token: Pick<StoredToken, "id" | "name">): void;
}

/** What each method does. */
export type Handlers = {
  readonly [M in AdminMethod]: (request: AdminInput<M>, work: Work) => Promise<AdminOutput<M>>;
};

/** @throws LintelError `invalid_fields`, where anything was found */
export function refuse(found: readonly Violation[]): void {
  if (found.length > 0) throw invalidFields(found);
}
