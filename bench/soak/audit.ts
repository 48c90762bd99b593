/** The books of a gateway at the end: all of it has to agree with what callers saw. */
import { execFileSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { againOf, type Seen } from "./asking.js";
import { lifetime, type Places, tokens } from "./configuration.js";
import { type Outage, wasAway } from "./disturbances.js";
import { readLog, withoutAnswers } from "./gateway-log.js";
import { connectionsTo, filesOf, handlesOf, type Upstream } from "./outside.js";
import { recordsOf } from "./records.js";
import { mostReserved } from "./reserved.js";

/** One that was made. */
export interface Call {
  readonly id: string;
  readonly kind: string;
  seen: Seen;
  /** Where nobody can say: why. */
  error: string | undefined;
  /** Times of `Date.now()`. */
  readonly from: number;
  until: number;
}

/** What is looked at. */
export interface Books {
  readonly url: string;
  readonly processes: readonly (readonly [string, number])[];
  readonly metrics: string;
  readonly places: Places;
  readonly log: string;
  readonly calls: readonly Call[];
  readonly outages: readonly Outage[];
  /** When workers were killed, by `Date.now()`. */
  readonly kills: readonly number[];
  readonly upstreams: Readonly<Record<string, Upstream>>;
  /** Closes the callers' connections. */
  quiet(): Promise<void>;
  snapshot(): Promise<void>;
  stop(): Promise<void>;
}

interface Limit {
  readonly scope: string;
  readonly quantity: string;
  readonly limit: number;
  readonly remaining: number;
}

/** @returns what is wrong, a line each */
export async function audit(books: Books): Promise<string[]> {
  const { url, places, metrics } = books;
  const wrong: string[] = [];
  await heal(books, wrong);
  await books.quiet();
  await pause(12_000);
  await books.snapshot();
  const [steady, poor] = [await leftOf(url, tokens.steady), await leftOf(url, tokens.poor)];
  const text = await (await fetch(`http://${metrics}/metrics`)).text();
  const values = (name: string, labels = "") =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{([^}]*)\\})? (\\S+)$`, "gm"))]
      .filter(([, found = ""]) => found.includes(labels))
      .map(([line, , value]) => ({ line, value: Number(value) }));
  const sum = (name: string, labels?: string) =>
    values(name, labels).reduce((total, { value }) => total + value, 0);
  const expectAll = (name: string, expected: number) => {
    const found = values(name);
    if (found.length === 0) wrong.push(`no metric ${name}`);
    for (const { line, value } of found)
      if (value !== expected) wrong.push(`not ${expected}: ${line}`);
  };
  for (const name of ["requests_active", "target_active", "target_waiting", "mirror_active"])
    expectAll(`lintel_${name}`, 0);
  for (const name of ["unwritten", "waiting_bytes", "lost_total"])
    expectAll(`lintel_usage_${name}`, 0);
  expectAll("lintel_store_available", 1);
  for (const [name, one] of Object.entries(books.upstreams)) {
    const running = await one.running();
    if (running !== 0) wrong.push(`${running} calls still run at ${name}`);
    console.log(`connections to ${name}: ${connectionsTo(one.url)}`);
  }
  for (const [name, pid] of books.processes) {
    const { sockets, all } = handlesOf(pid);
    console.log(`${name} at rest: ${sockets} sockets, ${all} handles`);
  }
  let budget = 0;
  for (const { scope, quantity, limit, remaining } of [...steady, ...poor]) {
    if (quantity === "concurrent" && limit !== remaining)
      wrong.push(`${limit - remaining} places of ${scope} are held`);
    if (scope === "global" && quantity === "spend") budget = limit - remaining;
  }
  // Records reach the database within a second or two.
  await pause(3000);
  const counted = execFileSync(
    process.execPath,
    [
      "dist/src/main.js",
      "usage",
      "--config",
      places.file,
      "--by",
      "outcome",
      "--since",
      "7d",
      "--format",
      "json",
    ],
    { encoding: "utf8" },
  );
  await books.stop();

  const records = new Map<string, string[]>();
  let spent = 0;
  const rows = await recordsOf(places.database);
  for (const { request_id, outcome, spend } of rows) {
    records.set(request_id, [...(records.get(request_id) ?? []), outcome]);
    spent += Number(spend ?? 0) / 1e9;
  }
  console.log(
    `spent by the records ${spent}, by the budget of ${lifetime} ${(budget - spent).toFixed(6)} more`,
  );
  // What calls had reserved that were killed counts on.
  const most = mostReserved(books.calls, books.kills);
  console.log(`calls that ran as a worker was killed had reserved ${most} of it at most`);
  if (budget - spent < -1e-6 || budget - spent > most + 1e-6)
    wrong.push("the budget is not the sum of the records");
  const ofCommand = (JSON.parse(counted) as { calls: number; spend: number }[]).reduce(
    (total, { calls, spend }) => ({ calls: total.calls + calls, spend: total.spend + spend }),
    { calls: 0, spend: 0 },
  );
  console.log(`lintel usage: ${JSON.stringify(ofCommand)}, records ${rows.length}`);
  if (ofCommand.calls !== rows.length) wrong.push("lintel usage counts other calls");
  if (Math.abs(ofCommand.spend - spent) > 1e-6) wrong.push("lintel usage counts another spend");

  wrong.push(...alike(books, records));
  const { lines, counts } = readLog(books.log);
  const requests = sum("lintel_requests_total");
  console.log(`calls: ${requests} by the metrics, ${lines} lines of the log`);
  if (requests !== lines) wrong.push("metrics and the log don't have the same number of calls");
  for (const [what, n] of counts) console.log(String(n).padStart(7), what);
  const failed = [/^[34]0 /, ...expectedErrors(books.outages)];
  for (const what of counts.keys())
    if (!failed.some((one) => one.test(what))) wrong.push(`the log: ${what}`);
  // The log of SQLite stays where this process, which looked at it, has not let go of it yet.
  const left = filesOf(places.state).filter(([path]) => /\/usage\/|\/run\//.test(path));
  for (const [path, bytes] of left)
    if (bytes > 0) wrong.push(`left behind: ${path}, ${bytes} bytes`);
  return wrong;
}

/** Errors that the log may tell of, as of what failed. */
const expectedErrors = (outages: readonly Outage[]): RegExp[] =>
  [
    { failed: /^a worker/, told: /^50 a worker ended: it is started again$/ },
    { failed: /^bucket/, told: /^50 images could not be (swept|deleted)$/ },
    { failed: /^disk/, told: /^50 usage can't be written to the disk; / },
  ].flatMap(({ failed, told }) => (outages.some(({ what }) => failed.test(what)) ? [told] : []));

/** Whether its deadline is a moment away. */
const isHurried = (kind: string) => kind.endsWith("deadline");

/** What is left of the limits of a token. */
async function leftOf(url: string, token: string): Promise<Limit[]> {
  const answer = await fetch(`${url}/account`, { headers: { authorization: `Bearer ${token}` } });
  return ((await answer.json()) as { limits: Limit[] }).limits;
}

/** Some calls bring back what was out. */
async function heal({ url, metrics, places }: Books, wrong: string[]): Promise<void> {
  const chats = ["chat", "chat", "kept", "watched", "any-heal"];
  const images = ["image"];
  if (places.shared) {
    chats.push("on-node", "on-rest", "far");
    images.push("comfyui", "sdapi", "far-image", "drawn");
  }
  let out: string[] = [];
  for (let i = 0; i < 20; i++) {
    for (const model of [...chats, ...images]) {
      const isImage = images.includes(model);
      const image = {
        model_id: model,
        prompt: `${i}`,
        width: 64,
        height: 64,
        num_inference_steps: 1,
      };
      const chat = {
        model,
        messages: [{ role: "user", content: `heal ${i}` }],
        stream: i % 2 === 0,
      };
      const answer = await fetch(url + (isImage ? "/text-to-image" : "/llm"), {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.steady}`,
          "content-type": "application/json",
          // To one worker after the other.
          connection: "close",
        },
        body: JSON.stringify(isImage ? image : chat),
      });
      await answer.text();
    }
    const text = await (await fetch(`http://${metrics}/metrics`)).text();
    out = text.match(/^lintel_(?:target|mirror)_available\{.* 0$/gm) ?? [];
    if (out.length === 0) return;
    await pause(500);
  }
  // Models that are listed no more stay as they were.
  for (const line of out) if (!line.includes("listed-")) wrong.push(`not well again: ${line}`);
}

/** Holds what callers saw against the records. */
function alike(
  { calls, outages, log }: Books,
  records: ReadonlyMap<string, readonly string[]>,
): string[] {
  const ended = new Map<string, number>();
  const wrong: string[] = [];
  const away = [...outages, ...withoutAnswers(log)];
  for (const { id, kind, seen, error, from, until } of calls) {
    const again = records.get(againOf(id)) ?? [];
    // Of two by one key the other one may have run; a stream that had to wait does not say so in its head.
    const found = records.get(id) ?? again;
    // Redis that lost its memory, or could not be asked, knows no keys, nor does who was killed tell them.
    const isKnown = !wasAway(away, /Redis|worker|answers/, from, until);
    if (found.includes("ok") && again.includes("ok") && found !== again && isKnown)
      wrong.push(`${kind} ${id}: it ran twice`);
    const recorded = found.join(" and ") || "no record";
    const key = `${kind}: ${seen}${error ? ` (${error})` : ""}, ${recorded}`;
    ended.set(key, (ended.get(key) ?? 0) + 1);
    const fits: Record<Seen, boolean> = {
      ok: recorded === "ok",
      // Whose time was over before it was asked who it is, on a busy machine, is nobody.
      failed: recorded !== "ok" && (found.length === 1 || (found.length === 0 && isHurried(kind))),
      again: !records.has(id),
      refused: found.length === 0,
      left: found.length <= 1,
      unheard: found.length <= 1,
    };
    if (!fits[seen]) wrong.push(`${kind} ${id}: ${seen}, ${recorded}`);
  }
  for (const [key, n] of [...ended].sort()) console.log(String(n).padStart(7), key);
  return wrong.length > 20 ? [...wrong.slice(0, 20), `and ${wrong.length - 20} more`] : wrong;
}
