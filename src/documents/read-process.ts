/**
 * The process that one document is read in. It watches over the thread that does it: a thread
 * of the gateway that runs out of memory may take the whole process with it, and what it has
 * outside of its heap counts for no limit.
 */
import { startThread } from "../thread.js";
import type { Order, Report } from "./protocol.js";

/** Milliseconds between two looks at the memory. */
const lookMs = 20;

const leave = () => process.exit();
const tell = (report: Report) => void process.send?.(report, leave);

process.once("message", ({ memory, ...order }: Order) => {
  const before = process.memoryUsage.rss();
  const thread = startThread("./read-thread", import.meta.url, {
    name: "lintel-document",
    data: order,
    limits: { maxOldGenerationSizeMb: memory },
  });
  thread.on("message", tell);
  thread.on("error", (error: NodeJS.ErrnoException) =>
    tell(
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? { type: "memory" }
        : { type: "failed", fault: String(error) },
    ),
  );
  thread.on("exit", () => tell({ type: "failed", fault: "the thread that reads ended" }));
  setInterval(() => {
    if (process.memoryUsage.rss() - before > memory * 2 ** 20) tell({ type: "memory" });
  }, lookMs);
});

// The gateway decides when it leaves, and closes the channel however it ends.
process.on("disconnect", leave);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"] as const)
  process.on(signal, () => {});
