/** Metrics over OTLP. */
import { expect, onTestFinished, test, vi } from "vitest";
import { coreOf, run } from "../support/core.js";
import { startLintel } from "../support/lintel.js";
import { backend, hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";
import { Collector } from "./collector.js";
import { otlpTo, telemetryOf } from "./support.js";

test("over OTLP they count from the start until they are sent, to the millisecond", async () => {
  const sink = await Collector.start();
  const begin = Date.UTC(2027, 0, 1, 0, 0, 0, 123);
  const clock = vi.spyOn(Date, "now").mockReturnValue(begin);
  onTestFinished(() => clock.mockRestore());
  const open = await telemetryOf({ otlp: otlpTo(sink.url, { traces: false }) });
  await run(coreOf([backend("a")], {}, { telemetry: open.telemetry }), "chat", hello);
  clock.mockReturnValue(begin + 60_789);
  await open.close();
  await sink.close();
  for (const name of ["lintel.requests", "gen_ai.server.request.duration"]) {
    const [point] = sink.points(name);
    const [from, to] = [point?.startTimeUnixNano, point?.timeUnixNano].map(String);
    expect([from, to]).toEqual([`${begin}000000`, `${begin + 60_789}000000`]);
  }
});

test("over OTLP they are the same, under the conventions' own names", async () => {
  const sink = await Collector.start();
  const open = await telemetryOf({ otlp: otlpTo(sink.url, { traces: false }) });
  const lintel = await startLintel([scripted({ chat: says("x", "y") })], {
    parts: { telemetry: open.telemetry },
  });
  const { core } = lintel;
  open.observe({ running: () => core.readiness.running, routing: () => core.routing.snapshot() });
  const response = await fetch(`${lintel.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer x", "content-type": "application/json" },
    body: JSON.stringify({ ...hello, stream: true }),
  });
  await response.text();
  await lintel.close();
  await open.close();
  await sink.close();
  expect(sink.points("lintel.requests")).toMatchObject([
    {
      asDouble: 1,
      attributes: {
        "lintel.door": "openai",
        "lintel.method": "chat",
        "lintel.outcome": "ok",
        "gen_ai.request.model": "chat-1",
      },
    },
  ]);
  const own = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "lintel",
    "gen_ai.request.model": "chat-1",
  };
  for (const name of ["request.duration", "time_to_first_token", "time_per_output_token"]) {
    const points = sink.points(`gen_ai.server.${name}`);
    expect(points, name).toHaveLength(1);
    expect(points[0]?.attributes, name).toEqual(own);
    expect(sink.metrics.get(`gen_ai.server.${name}`)).toMatchObject({
      unit: "s",
      histogram: { aggregationTemporality: 2 },
    });
  }
  const usage = sink.points("gen_ai.client.token.usage");
  expect(usage.map(({ sum, attributes }) => [attributes["gen_ai.token.type"], sum])).toEqual([
    ["input", 7],
    ["output", 2],
  ]);
  expect(sink.metrics.get("lintel.requests").sum).toMatchObject({ isMonotonic: true });
  expect(sink.points("lintel.target.available")[0]).toMatchObject({ asDouble: 1 });
});
