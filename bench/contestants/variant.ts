/** Contestants as commands name them: `lintel-full,main=FILE,node=OPTION`. */
import { mkdirSync } from "node:fs";
import type { Pinned } from "../cores.js";
import type { Contestant } from "./contestant.js";
import { contestantNamed } from "./named.js";

/**
 * Starts one of another build or with options of Node.
 * @param variant its name, and `main=` and `node=` behind it
 * @param folder its own, which is made
 */
export function startVariant(
  variant: string,
  port: number,
  upstream: number,
  folder: string,
): { contestant: Contestant; gateway: Pinned } {
  const [name = "", ...settings] = variant.split(",");
  const given = (key: string) =>
    settings.flatMap((word) => (word.startsWith(`${key}=`) ? [word.slice(key.length + 1)] : []));
  const contestant = contestantNamed(name);
  mkdirSync(folder, { recursive: true });
  const build = { main: given("main")[0], options: given("node") };
  return { contestant, gateway: contestant.start(port, upstream, folder, build) };
}
