/** What was used, by whom and of what. */
import { useEffect, useState } from "preact/hooks";
import { Choice } from "../fields.js";
import { wordsOf } from "../gateway.js";
import { Alert, Warnings } from "../notes.js";
import { Scrolls } from "../scrolls.js";
import { seconds } from "../time.js";
import type { Administer, QueryUsage, UsageRow } from "./wire.js";

const groups = [
  ...["model", "token", "team", "user", "backend", "door", "method", "outcome"],
  ...["hour", "day", "month"],
];
const spans = [
  { label: "an hour", hours: 1 },
  { label: "a day", hours: 24 },
  { label: "a week", hours: 7 * 24 },
  { label: "thirty days", hours: 30 * 24 },
];
/** As many rows as a person looks at; a gateway takes 10,000. */
const most = 500;

export function UsageView({ administer }: { readonly administer: Administer }) {
  const [by, setBy] = useState("model");
  const [and, setAnd] = useState("");
  const [hours, setHours] = useState("24");
  const [asked, setAsked] = useState(0);
  const [usage, setUsage] = useState<QueryUsage>();
  const [error, setError] = useState<string>();
  const told = and === "" || and === by ? [by] : [by, and];
  const group = told.join();

  useEffect(() => {
    let current = true;
    const start = new Date(Date.now() - Number(hours) * 3_600_000).toISOString();
    const request = { group_by: group.split(","), start_time: start, page_size: most };
    administer<QueryUsage>("UsageService/QueryUsage", request).then(
      (answer) => {
        if (!current) return;
        setUsage(answer);
        setError(undefined);
      },
      (reason) => current && setError(wordsOf(reason)),
    );
    return () => {
      current = false;
    };
  }, [administer, group, hours, asked]);

  return (
    <>
      <h2>Usage</h2>
      <form class="grid" aria-label="Usage" onSubmit={(event) => event.preventDefault()}>
        <Choice label="By" value={by} onChange={setBy}>
          {groups.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Choice>
        <Choice label="and" value={and} onChange={setAnd}>
          <option value="">nothing else</option>
          {groups.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Choice>
        <Choice label="Of the last" value={hours} onChange={setHours}>
          {spans.map(({ label, hours }) => (
            <option key={label} value={String(hours)}>
              {label}
            </option>
          ))}
        </Choice>
        <button type="button" class="quiet" onClick={() => setAsked(asked + 1)}>
          Look again
        </button>
      </form>
      {error !== undefined && <Alert text={error} />}
      {usage && <Warnings texts={usage.warnings} />}
      {usage && <Rows rows={usage.rows} groups={told} />}
      {usage?.next_page_token && <p class="empty">There is more: only {most} rows are shown.</p>}
    </>
  );
}

const Rows = ({
  rows,
  groups,
}: {
  readonly rows: readonly UsageRow[];
  readonly groups: readonly string[];
}) => {
  const greatest = Math.max(1, ...rows.map(({ calls }) => Number(calls)));
  return (
    <Scrolls>
      <table aria-label="Usage">
        <thead>
          <tr>
            {groups.map((one) => (
              <th key={one}>{one}</th>
            ))}
            <th>Calls</th>
            <th class="number">Failed</th>
            <th class="number">Prompt tokens</th>
            <th class="number">Completion tokens</th>
            <th class="number">Images</th>
            <th class="number">Spend</th>
            <th class="number">Mean</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={groups.map((one) => row.group[one]).join("\n")}>
              {groups.map((one) => (
                <td key={one}>{row.group[one] || "—"}</td>
              ))}
              <td>
                <meter max={greatest} value={Number(row.calls)} /> {counted(row.calls)}
              </td>
              <td class="number">{counted(row.failed)}</td>
              <td class="number">{counted(row.prompt_tokens)}</td>
              <td class="number">{counted(row.completion_tokens)}</td>
              <td class="number">{counted(row.images)}</td>
              <td class="number">
                {row.spend.toLocaleString(undefined, { maximumFractionDigits: 4 })}
              </td>
              <td class="number">{seconds(row.mean_duration_ms)} s</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">Nothing was used.</p>}
    </Scrolls>
  );
};

const counted = (number: string): string => Number(number).toLocaleString();
