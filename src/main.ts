#!/usr/bin/env node
/** The command line's entry. */
import { existsSync } from "node:fs";
import module from "node:module";

// A sooner start. Node 20 does not have it, and its types don't know it.
(module as { enableCompileCache?: () => void }).enableCompileCache?.();
const bundled = new URL("../bundle/run.js", import.meta.url);
const { run } = (await import(
  existsSync(bundled) ? bundled.href : "./cli/run.js"
)) as typeof import("./cli/run.js");

process.exitCode = await run(process.argv.slice(2));
