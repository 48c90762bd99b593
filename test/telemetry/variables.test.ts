/** OpenTelemetry's own variables, where the library can't use them. */
import { expect, onTestFinished, test, vi } from "vitest";
import { Collector } from "./collector.js";
import { otlpTo, telemetryOf } from "./support.js";

test("variables that are passed over are said, each once", async () => {
  const sink = await Collector.start();
  onTestFinished(() => sink.close());
  const lines: object[] = [];
  const note = (fields: object, text: string) => void lines.push({ ...fields, text });
  const log = { debug: note, info: note, warn: note, error: note };
  vi.stubEnv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
  vi.stubEnv("OTEL_TRACES_SAMPLER_ARG", "10%");
  vi.stubEnv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem");
  onTestFinished(() => void vi.unstubAllEnvs());
  const telemetry = await telemetryOf({ otlp: otlpTo(sink.url) }, log);
  await telemetry.close();
  const text = "a variable of OpenTelemetry can't be used as it is";
  const saying = (words: string) => ({ said: expect.stringContaining(words), text });
  expect(lines).toEqual([
    saying("root certificate"),
    saying("'10%' for OTEL_TRACES_SAMPLER_ARG"),
    saying("OTEL_TRACES_SAMPLER_ARG is blank"),
  ]);
});
