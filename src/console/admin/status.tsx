/** What the gateway does now. */
import { useEffect, useState } from "preact/hooks";
import { wordsOf } from "../gateway.js";
import { Alert } from "../notes.js";
import { Scrolls } from "../scrolls.js";
import { seconds, span } from "../time.js";
import type { Administer, BudgetStatus, Percentiles, Status, TargetStatus } from "./wire.js";

/** Between two looks, milliseconds. */
const intervalMs = 2000;

/** Looks again and again, as long as it is there and somebody looks at the page. */
export function StatusView({ administer }: { readonly administer: Administer }) {
  const [status, setStatus] = useState<Status>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current = true;
    const look = async () => {
      try {
        if (!document.hidden) {
          const now = await administer<Status>("StatusService/GetStatus", {});
          if (!current) return;
          setStatus(now);
          setError(undefined);
        }
      } catch (reason) {
        if (!current) return;
        setError(wordsOf(reason));
      }
      if (current) timer = setTimeout(look, intervalMs);
    };
    void look();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [administer]);
  return (
    <>
      <h2>Now</h2>
      {error !== undefined && <Alert text={error} />}
      {status && <Told status={status} />}
    </>
  );
}

const Told = ({ status }: { readonly status: Status }) => {
  const { version, workers, uptime, running, models, targets, away, last_reload, budgets } = status;
  const rate = (of: "call_rate" | "token_rate") =>
    models.reduce((sum, model) => sum + model[of], 0).toFixed(1);
  return (
    <>
      <p>
        Lintel {version}, up {span(Number.parseFloat(uptime))}
        {workers > 1 && `, ${workers} workers`} · {running} running · {rate("call_rate")} calls/s ·{" "}
        {rate("token_rate")} tokens/s
      </p>
      {away.length > 0 && <Alert text={`Away: ${away.join(", ")}`} />}
      {last_reload?.successful === false && (
        <Alert text="The last reload failed: the configuration before stays." />
      )}
      <Scrolls>
        <table aria-label="Targets">
          <thead>
            <tr>
              <th>Target</th>
              <th>State</th>
              <th class="number">Running</th>
              <th class="number">Waiting</th>
              <th class="number">Calls</th>
              <th class="number">Failed</th>
              <th class="number">First</th>
              <th class="number">Total</th>
              <th>Last failure</th>
            </tr>
          </thead>
          <tbody>
            {targets.map((target) => (
              <tr key={`${target.backend}\n${target.model}`}>
                <td>
                  {target.model}
                  <small>{target.backend}</small>
                </td>
                <td>
                  <TargetState target={target} />
                </td>
                <td class="number">
                  {target.in_flight}
                  {target.max_in_flight !== undefined && ` of ${target.max_in_flight}`}
                </td>
                <td class="number">{target.waiting}</td>
                <td class="number">{Number(target.attempts).toLocaleString()}</td>
                <td class="number">{Number(target.failures).toLocaleString()}</td>
                <td class="number">{times(target.first_ms)}</td>
                <td class="number">{times(target.total_ms)}</td>
                <td>{target.last_failure}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
      {budgets.length > 0 && <Budgets budgets={budgets} />}
    </>
  );
};

const Budgets = ({ budgets }: { readonly budgets: readonly BudgetStatus[] }) => (
  <Scrolls>
    <table aria-label="Budgets">
      <thead>
        <tr>
          <th>Budget</th>
          <th>Used</th>
          <th>Begins anew</th>
        </tr>
      </thead>
      <tbody>
        {budgets.map(({ scope, name, caller, team, period, amount, used, reset_time }) => (
          <tr key={JSON.stringify([scope, name, caller, team, period])}>
            <td>
              {scope.replace("_", " and ")} {(caller || team) && `${caller || team}, `}
              {name}
            </td>
            <td>
              <meter max={amount} value={used} high={amount * 0.8} />{" "}
              {used.toLocaleString(undefined, { maximumFractionDigits: 2 })} of{" "}
              {amount.toLocaleString()} {period === "lifetime" ? "in all" : `per ${period}`}
            </td>
            <td>{reset_time === undefined ? "never" : new Date(reset_time).toLocaleString()}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolls>
);

function TargetState({ target: { state, out_for_ms } }: { readonly target: TargetStatus }) {
  const word = state.replace("TARGET_STATE_", "").toLowerCase();
  const look = { in: "ready", out: "failed", used_up: "failed" }[word] ?? "loading";
  return (
    <span class={`state ${look}`}>
      {word.replace("_", " ")}
      {out_for_ms > 0 && ` for ${span(out_for_ms / 1000)}`}
    </span>
  );
}

/** The middle and the slow end. */
const times = (ms: Percentiles | undefined): string =>
  ms ? `${seconds(ms.p50)}, ${seconds(ms.p95)} s` : "";
