/** Links of the file system, one after the other. */
import { readlinkSync } from "node:fs";
import { dirname, join, parse, resolve, sep } from "node:path";

/** Most links on the way to a file, as Linux has it. */
const mostLinks = 40;

/**
 * The folders in which it is decided what file a path leads to: its own, those of links on the
 * way, and the one of what they lead to, there or not.
 * @param path absolute
 */
export function foldersOf(path: string): Set<string> {
  const folders = new Set([dirname(path)]);
  let at = parse(path).root;
  let names = namesIn(path);
  for (let links = 0; ; ) {
    const [name, ...rest] = names;
    if (name === undefined) break;
    const next = join(at, name);
    const target = links < mostLinks ? targetOf(next) : undefined;
    if (target === undefined) {
      at = next;
      names = rest;
      continue;
    }
    links++;
    folders.add(at);
    const absolute = resolve(at, target);
    at = parse(absolute).root;
    names = [...namesIn(absolute), ...rest];
  }
  return folders.add(dirname(at));
}

const namesIn = (path: string): string[] =>
  path.slice(parse(path).root.length).split(sep).filter(Boolean);

/** Where a link leads; `undefined`: there is none. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
