/** Where a call can go. */
import type { Model } from "../../../gen/lintel/v1/models_pb.js";
import type { Backend } from "../backend.js";
import type { Call } from "../call.js";
import type { AttemptRecord } from "../call-attributes.js";
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

/** The model that answers a call, or the one that most likely will. */
export function answering({
  targets,
  attributes,
}: Pick<Call, "targets" | "attributes">): Model | undefined {
  return (targetOf(attributes.tried.at(-1), targets) ?? targets?.[0])?.model;
}

/** The target that an attempt asked. */
export const targetOf = (
  record: AttemptRecord | undefined,
  targets: readonly Target[] = [],
): Target | undefined =>
  targets.find(
    ({ backend, model }) => backend.name === record?.backend && model.id === record.model,
  );
