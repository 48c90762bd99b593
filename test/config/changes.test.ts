/** What the docs say of every section: when a change of it applies. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { changeOf } from "../../src/config/changes.js";
import { type Config, configSchema } from "../../src/config/schema.js";

/** What docs/operations.md says of each section: the left column applies at once, the right one after a restart. */
function told(): readonly [ReadonlySet<string>, ReadonlySet<string>] {
  const text = readFileSync("docs/operations.md", "utf8");
  const row = /^\| Applies at once .*\n.*\n\|(.*)\|(.*)\|$/m.exec(text);
  const names = (cell = "") => new Set([...cell.matchAll(/`([a-z_.]+)`/g)].map(([, name]) => name));
  return [names(row?.[1]), names(row?.[2])] as never;
}

test("docs/operations.md says of every section when a change of it applies", () => {
  const [atOnce, restart] = told();
  const now = configSchema.parse({});
  for (const section of Object.keys(configSchema.shape) as (keyof Config)[]) {
    if (section === "auth" || section === "idempotency") continue;
    const other = { ...now, [section]: { another: true } } as unknown as Config;
    const change = changeOf(now, other, false);
    expect([section, change.changed, change.restart]).toEqual([
      section,
      atOnce.has(section) ? [section] : [],
      restart.has(section) ? [section] : [],
    ]);
    expect(atOnce.has(section)).not.toBe(restart.has(section));
    const holds = atOnce.has(section) ? other : now;
    expect(change.config[section]).toEqual(holds[section]);
  }
});
