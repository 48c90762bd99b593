/**
 * Checks that proto/ breaks nobody who built against an earlier state of it.
 *
 *   node scripts/breaking.js [REF]
 *
 * Compares with REF; without one, with the last tag; without a tag, with the
 * branch main, or on main itself with the commit before. Works offline and
 * with uncommitted changes. Where there is nothing to compare with, says so
 * and succeeds.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Output of a git command, or `undefined` if it fails. */
function git(...args) {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** The commit to compare with. */
function earlier() {
  if (process.argv[2]) return process.argv[2];
  const tag = git("describe", "--tags", "--abbrev=0");
  if (tag) return tag;
  const head = git("rev-parse", "HEAD");
  for (const ref of ["refs/heads/main", "refs/remotes/origin/main", "HEAD~1"]) {
    const commit = git("rev-parse", "--verify", "--quiet", `${ref}^{commit}`);
    if (commit && commit !== head) return commit;
  }
  return undefined;
}

const ref = earlier();
if (!ref || git("ls-tree", "--name-only", ref, "proto/") === undefined) {
  if (process.argv[2]) {
    console.error(`breaking: there is no commit ${ref}`);
    process.exit(1);
  }
  console.log("breaking: nothing to compare with, there is no earlier commit");
} else if (!git("ls-tree", "--name-only", ref, "proto/")) {
  console.log(`breaking: nothing to compare with, ${ref} has no proto/`);
} else {
  const folder = mkdtempSync(join(tmpdir(), "lintel-breaking-"));
  try {
    const archive = join(folder, "before.tar");
    if (git("archive", "--format=tar", "-o", archive, ref, "buf.yaml", "proto") === undefined) {
      throw new Error(`git archive of ${ref} failed`);
    }
    const buf = join(root, "node_modules/.bin/buf");
    const { status, error } = spawnSync(buf, ["breaking", "--against", archive], {
      cwd: root,
      stdio: "inherit",
    });
    if (error) throw error;
    if (status === 0) console.log(`breaking: nothing breaks against ${ref}`);
    process.exitCode = status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
