/** Folders that are watched for a file behind links. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { foldersOf } from "../../src/cli/links.js";
import { folder } from "./lintel.js";

/** An empty folder with these within, by a name that has no links. */
function folders(...names: readonly string[]) {
  const root = realpathSync(folder());
  for (const name of names) mkdirSync(join(root, name));
  return root;
}

test("they are those of each link on the way, and of what it leads to, there or not", () => {
  const root = folders("etc", "data", "data/v1", "far");
  // As Kubernetes mounts a ConfigMap.
  symlinkSync("v1", join(root, "data/now"));
  symlinkSync("../data/now/lintel.yaml", join(root, "etc/lintel.yaml"));
  const at = (...names: string[]) => new Set(names.map((name) => join(root, name)));
  const way = at("etc", "data", "data/v1");
  expect(foldersOf(join(root, "etc/lintel.yaml"))).toEqual(way);
  writeFileSync(join(root, "data/v1/lintel.yaml"), "{}");
  expect(foldersOf(join(root, "etc/lintel.yaml"))).toEqual(way);
  symlinkSync(join(root, "far/lintel.yaml"), join(root, "data/lintel.yaml"));
  expect(foldersOf(join(root, "data/lintel.yaml"))).toEqual(at("data", "far"));
  expect(foldersOf(join(root, "far/lintel.yaml"))).toEqual(at("far"));
});

test("links that lead to each other come to an end", () => {
  const root = folders();
  symlinkSync("b", join(root, "a"));
  symlinkSync("a", join(root, "b"));
  expect(foldersOf(join(root, "a"))).toEqual(new Set([root]));
});
