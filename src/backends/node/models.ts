/** What a node serves: as it says itself, and as it is configured. */
import { type Model, State } from "../../../gen/lintel/v1/models_pb.js";
import { type ConfiguredModel, fromConfiguration } from "../configured-model.js";

/** The same model while the node does not answer. */
export const unreachable = (model: Model): Model => ({
  ...model,
  state: State.FAILED,
  stateDetail: "the node can't be reached",
});

/** What the configuration lists, with what the node says of it; without a list all of the node's. */
export function merge(configured: readonly ConfiguredModel[] | undefined, said: readonly Model[]) {
  if (!configured) return said;
  return configured.map(
    (entry) => said.find(({ id }) => id === entry.id) ?? fromConfiguration(entry, State.READY),
  );
}
