/** What `lintel serve` says once it listens. */
import { type Model, State, Task } from "../../gen/lintel/v1/models_pb.js";
import { localUrl } from "../server/listen.js";
import { stateWords, taskWords } from "./model-words.js";
import { printable } from "./output.js";

/** What the banner tells. */
export interface BannerFacts {
  readonly version: string;
  /** The configuration file; `undefined` without one. */
  readonly file: string | undefined;
  /** Addresses as they are listened on: `http://127.0.0.1:8080`, `unix:/run/lintel.sock`. */
  readonly addresses: readonly string[];
  /** Whether there is a page for browsers. */
  readonly console: boolean;
  /** Where administration is served; absent: it is not. */
  readonly admin?: readonly string[] | undefined;
  readonly models: readonly ServedModel[];
  /** Backends that have not said yet which models they have. */
  readonly silent: readonly { readonly backend: string; readonly where: string }[];
  /** Whether there is any backend. */
  readonly hasBackend: boolean;
  readonly auth: "public" | "token" | "none";
  /** How many processes serve. */
  readonly workers: number;
}

/** A model and where it runs. */
export interface ServedModel {
  readonly model: Model;
  /** Name of the backend that is asked first. */
  readonly backend: string;
  /** `embedded`, or the backend's address or package. */
  readonly where: string;
  /** Names of the others. */
  readonly others: readonly string[];
}

const authWords = {
  public: "any bearer token will do (auth.mode public)",
  token: "only issued tokens (auth.mode token)",
  none: "everybody, without a token (auth.mode none)",
};

/**
 * The banner's text.
 * @param windows whether what is to be tried is typed into one of its shells. Default: whether this is Windows
 */
export function banner(facts: BannerFacts, windows = process.platform === "win32"): string {
  const { version, file, addresses, admin, auth, workers } = facts;
  return [
    `Lintel ${version} on ${addresses.join(", ")}`,
    "",
    "  One port:  REST and SSE, OpenAI, Anthropic, Google, gRPC, gRPC-Web, Connect; HTTP/1.1 and HTTP/2",
    `  Settings:  ${file ?? "defaults (no lintel.yaml)"}`,
    `  Callers:   ${authWords[auth]}`,
    ...browserLine(facts),
    ...(admin ? [`  Admin:     ${admin.join(", ")} (admin.tokens)`] : []),
    ...(workers > 1 ? [`  Workers:   ${workers} processes at the same addresses`] : []),
    "",
    ...modelLines(facts),
    "",
    ...(windows ? commandLines(facts) : curlLines(facts)),
  ].join("\n");
}

/** Where to look with a browser, which opens no Unix sockets. */
function browserLine({ console, addresses }: BannerFacts): string[] {
  const address = addresses.find((one) => !one.startsWith("unix:"));
  return console && address !== undefined ? [`  Browser:   ${localUrl(address)}/`] : [];
}

/** Most models that are told: of thousands, what the log said before would be out of sight. */
const mostTold = 50;

/** Defaults and those that failed before all others. */
function told(models: BannerFacts["models"]): BannerFacts["models"] {
  if (models.length <= mostTold) return models;
  const matters = ({ model }: ServedModel) => model.isDefault || model.state === State.FAILED;
  const inTurn = [...models.filter(matters), ...models.filter((one) => !matters(one))];
  const some = new Set(inTurn.slice(0, mostTold));
  return models.filter((one) => some.has(one));
}

function modelLines({ models, silent, hasBackend }: BannerFacts): string[] {
  const rows = told(models).map(({ model, backend, where, others }) =>
    [
      taskWords[model.task] ?? "",
      model.isDefault ? `${model.id} (default)` : model.id,
      [where === backend ? where : `${backend}, ${where}`, ...others].join("; "),
      model.state === State.FAILED && model.stateDetail !== ""
        ? `failed: ${model.stateDetail}`
        : (stateWords[model.state] ?? ""),
    ].map(printable),
  );
  for (const { backend, where } of silent) rows.push(["?", backend, where, "does not answer yet"]);
  if (rows.length === 0) {
    return hasBackend
      ? ["  No models to list; names with * are served as callers complete them."]
      : ["  No models: there is no backend."];
  }
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const lines = rows.map((row) =>
    `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("   ")}`.trimEnd(),
  );
  const more = models.length - mostTold;
  return more > 0 ? [...lines, `  and ${more} more models: lintel models lists all`] : lines;
}

const hasModelFor = ({ models }: BannerFacts, task: Task): boolean =>
  models.some(({ model }) => model.task === task);

/** The same by our own commands: no line with JSON is read alike by Windows' shells. */
function commandLines(facts: BannerFacts): string[] {
  const address = facts.addresses[0];
  if (address === undefined) return [];
  const server = address.startsWith("unix:") ? `"${address}"` : localUrl(address);
  const rest = `--server ${server}${facts.auth === "token" ? " --token TOKEN" : ""}`;
  const lines: string[] = [];
  if (hasModelFor(facts, Task.CHAT)) lines.push(`  npx lintel chat Hello ${rest}`);
  if (hasModelFor(facts, Task.TEXT_TO_IMAGE)) {
    lines.push(`  npx lintel image "a red circle on a blue background" ${rest}`);
  }
  return lines.length === 0 ? [] : ["Try:", ...lines];
}

/** A curl line for each operation that can be tried, with the address that fits. */
function curlLines(facts: BannerFacts): string[] {
  const { addresses, auth } = facts;
  const address = addresses[0];
  if (address === undefined) return [];
  const base = address.startsWith("unix:")
    ? `--unix-socket ${quoted(address.slice("unix:".length))} http://localhost`
    : localUrl(address);
  const token = auth === "token" ? "$TOKEN" : "me";
  const headers =
    auth === "token"
      ? `-H "Authorization: Bearer ${token}" -H 'Content-Type: application/json'`
      : `-H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json'`;
  const lines: string[] = [];
  if (hasModelFor(facts, Task.CHAT)) {
    const body = '{"messages":[{"role":"user","content":"Hello"}],"stream":true}';
    lines.push(`  curl ${base}/llm ${headers} \\\n       -d '${body}'`);
  }
  if (hasModelFor(facts, Task.TEXT_TO_IMAGE)) {
    const body = '{"model_id":"","prompt":"a red circle on a blue background"}';
    lines.push(`  curl ${base}/text-to-image ${headers} \\\n       -d '${body}'`);
  }
  return lines.length === 0 ? [] : ["Try:", ...lines];
}

/** A path as a shell takes it for one word. */
const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
