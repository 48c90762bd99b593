/** What the process tells of itself. */
import { performance } from "node:perf_hooks";
import v8 from "node:v8";
import { memoryLimit } from "../backends/memory.js";
import { descriptorCount, descriptorLimit } from "../descriptors.js";
import type { Metric } from "./instruments.js";
import { counter, gauge, one } from "./looked-up.js";

/** What the process tells of itself, by OpenTelemetry's names where it has some. */
export function ofProcess(): Metric[] {
  const { user, system } = process.cpuUsage();
  const { loopStart, idleTime: idle } = performance.nodeTiming;
  const active = Math.max(0, performance.now() - loopStart - idle);
  const heap = v8.getHeapStatistics();
  const limit = descriptorLimit();
  const count = descriptorCount();
  return [
    counter("process.cpu.time", "s", "CPU time of the process.", [
      ...one(user / 1e6, { "cpu.mode": "user" }),
      ...one(system / 1e6, { "cpu.mode": "system" }),
    ]),
    gauge("process.memory.usage", "By", "Memory of the process.", one(process.memoryUsage.rss())),
    gauge("process.memory.limit", "By", "How much it may have.", one(memoryLimit())),
    gauge(
      "process.unix.file_descriptor.count",
      "{file_descriptor}",
      "File descriptors that the process has.",
      count === undefined ? [] : one(count),
    ),
    gauge(
      "process.unix.file_descriptor.limit",
      "{file_descriptor}",
      "How many it may have.",
      Number.isFinite(limit) ? one(limit) : [],
    ),
    gauge("process.uptime", "s", "How long the process runs.", one(process.uptime())),
    gauge("v8js.memory.heap.used", "By", "Heap that is in use.", one(heap.used_heap_size)),
    gauge(
      "v8js.memory.heap.max",
      "By",
      "How large the heap may become.",
      one(heap.heap_size_limit),
    ),
    counter("nodejs.eventloop.time", "s", "Time that the event loop was idle or at work.", [
      ...one(idle / 1000, { "nodejs.eventloop.state": "idle" }),
      ...one(active / 1000, { "nodejs.eventloop.state": "active" }),
    ]),
  ];
}
