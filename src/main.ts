#!/usr/bin/env node
/** The command line's entry. */
import module from "node:module";
import { fileURLToPath } from "node:url";
import { loadBundle } from "./bundle.js";
import { followBytes, tuneV8 } from "./v8.js";

const [command = "serve"] = process.argv.slice(2);
// It would end the process until the gateway's code is there, which takes it for a reload, but on Windows.
const reloads = process.platform !== "win32" && (command === "serve" || command.startsWith("-"));
if (reloads) process.on("SIGHUP", () => {});
// A sooner start where there is no bundle. Node 20 does not have it, and its types don't know it.
(module as { enableCompileCache?: () => void }).enableCompileCache?.();
// Before the bundle is loaded: V8's code for it only fits V8's settings.
tuneV8();
const bundle = fileURLToPath(new URL("../bundle/run.cjs", import.meta.url));
const { run } = loadBundle(bundle)?.exports ?? (await import("./cli/run.js"));
followBytes();

process.exitCode = await run(process.argv.slice(2));
