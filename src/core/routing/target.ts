/** Where a call can go. */
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../backend.js";
import type { Endpoint } from "./endpoint.js";

/** One of the places that serve a model, as one name of the model has it. */
export interface Target {
  readonly backend: Backend;
  /** The model as the backend has it. */
  readonly model: Model;
  /** Its share among targets of one tier. */
  readonly weight: number;
  /** Lower ones are asked first: by priority, and those that can answer before those that can't yet. */
  readonly tier: number;
  /** Shared by all names that lead there. */
  readonly endpoint: Endpoint;
}
