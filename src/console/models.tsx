/** What can be asked for. */

import { Scrolls } from "./scrolls.js";
import type { Model } from "./wire.js";

/** @param onUse hears which one somebody wants to try */
export const Models = ({
  models,
  onUse,
  onRefresh,
}: {
  readonly models: readonly Model[];
  readonly onUse: (model: Model) => void;
  readonly onRefresh: () => void;
}) => (
  <section class="wide">
    <div class="actions">
      <button type="button" class="quiet" onClick={onRefresh}>
        Look again
      </button>
    </div>
    <Scrolls>
      <table>
        <thead>
          <tr>
            <th>Model</th>
            <th>Does</th>
            <th>State</th>
            <th class="number">Context</th>
            <th class="number">Most tokens</th>
            <th>Takes</th>
            <th>Gives</th>
            <th>Heeds</th>
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <tr key={model.id}>
              <td>
                <button type="button" class="link" onClick={() => onUse(model)}>
                  {model.id}
                </button>
                {model.is_default && <span class="mark">default</span>}
                {model.source !== "" && <small>{model.source}</small>}
              </td>
              <td>{model.task === "TASK_TEXT_TO_IMAGE" ? "images" : "chat"}</td>
              <td>
                <State model={model} />
              </td>
              <td class="number">{known(model.context_length)}</td>
              <td class="number">{known(model.max_tokens)}</td>
              <td>{model.input_modalities.join(", ")}</td>
              <td>{model.output_modalities.join(", ")}</td>
              <td class="heeds">{model.supports.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  </section>
);

function State({ model }: { readonly model: Model }) {
  const state = model.state.replace("STATE_", "").toLowerCase();
  return (
    <>
      <span class={`state ${state}`}>{state}</span>
      {model.state_detail !== "" && <small>{model.state_detail}</small>}
    </>
  );
}

/** A number, of which 0 means that nobody knows it. */
const known = (number: number): string => (number === 0 ? "" : number.toLocaleString());
