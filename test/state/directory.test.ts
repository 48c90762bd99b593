import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("who has no home and is nobody that the system knows has the folder that a container gives", ({
  skip,
}) => {
  skip(process.getuid?.() !== 0, "only root may become somebody else");
  const program = `import { defaultStateDirectory } from "./src/state/directory.ts";
delete process.env.HOME;
process.setuid(3_999_999_999);
console.log(defaultStateDirectory({}));`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", program],
    { encoding: "utf8" },
  );
  expect([stdout, stderr]).toEqual(["/.local/state/lintel\n", ""]);
});
