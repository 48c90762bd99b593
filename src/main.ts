#!/usr/bin/env node
/** The command line's entry. */
import module from "node:module";

// A sooner start. Node 20 does not have it, and its types don't know it.
(module as { enableCompileCache?: () => void }).enableCompileCache?.();
const { run } = await import("./cli/run.js");

process.exitCode = await run(process.argv.slice(2));
