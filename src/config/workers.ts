/** How many processes serve, and what must be so that they act as one gateway. */
import { availableParallelism } from "node:os";
import * as z from "zod";
import { isSocketPath, socketPathIn } from "../socket-path.js";
import type { Finding, Path } from "./problems.js";
import { type Fields, fields, list } from "./raw.js";
import type { BackendConfig } from "./schema.js";

/** More would only wait for each other on any machine there is. */
const most = 256;

/** Kinds of backends whose models are in memory here, or in a process of the gateway's own. */
const local: ReadonlySet<unknown> = new Set<BackendConfig["type"]>(["embedded", "llama", "onnx"]);

/** `workers` of the configuration. */
export const workersSchema = z
  .union([z.int().min(1).max(most), z.literal("auto")], {
    error: `must be a whole number from 1 to ${most}, or auto`,
  })
  .default(1)
  .transform((value) => (value === "auto" ? availableParallelism() : value))
  .describe(
    "Processes that serve at the same addresses: one core is all that one of them can use. auto: one for each core. More than one need state.redis.",
  );

/** What more than one worker can't do without, or with. */
export function checkWorkers({ workers, state, backends, listen, admin }: Fields): Finding[] {
  if (!(workers === "auto" || (typeof workers === "number" && workers > 1))) return [];
  const lacking = (message: string): Finding => ({ path: ["workers"], message });
  const found: Finding[] = [];
  if (fields(state).redis === undefined) {
    found.push(lacking("more than one need state.redis, where they count together"));
  }
  if (backends === undefined) {
    found.push(lacking("more than one need backends: the embedded models would run in each"));
  }
  for (const [i, { type }] of list(backends).entries()) {
    if (!local.has(type)) continue;
    const message =
      "its models would be in memory once for each of the workers: serve them by lintel node, and name it as a backend of type node";
    found.push({ path: ["backends", i, "type"], message });
  }
  return [
    ...found,
    ...pipes(["listen"], listen),
    ...pipes(["admin", "listen"], fields(admin).listen),
  ];
}

/** Pipes of Windows: Node hands them to no other process. */
function pipes(at: Path, listen: unknown): Finding[] {
  const message = "is a pipe, and of one process alone: several need host:port";
  const isPipe = (text: unknown) =>
    typeof text === "string" && text.startsWith("unix:") && isSocketPath(socketPathIn(text), true);
  if (isPipe(listen)) return [{ path: at, message }];
  return (Array.isArray(listen) ? listen : []).flatMap((text, i) =>
    isPipe(text) ? [{ path: [...at, i], message }] : [],
  );
}
