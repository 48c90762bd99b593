/** What an operator can set about telemetry. Off is the absence of a part. */

/** How OTLP goes over HTTP. */
export const otlpProtocols = ["http/protobuf", "http/json"] as const;

/** One of them. */
export type OtlpProtocol = (typeof otlpProtocols)[number];

/** One for traces, and one for metrics. */
export interface OtlpProtocols {
  readonly traces: OtlpProtocol;
  readonly metrics: OtlpProtocol;
}

/** Telemetry over OTLP. What is absent is as the `OTEL_*` variables say. */
export interface OtlpSettings {
  /** Base address of a collector; `/v1/traces` and `/v1/metrics` are added. */
  readonly endpoint?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly protocols: OtlpProtocols;
  /** Between two exports of metrics, milliseconds. */
  readonly intervalMs: number;
  readonly traces: boolean;
  readonly metrics: boolean;
  /** Share of the traces that begin here which are recorded, 0 to 1. */
  readonly sampleRatio?: number | undefined;
  /** Whether spans have what was asked and answered. Default: no. */
  readonly content?: boolean | undefined;
}

/** What is recorded, and where it goes. */
export interface TelemetrySettings {
  /** Whether metrics can be read as Prometheus' text. */
  readonly prometheus: boolean;
  readonly otlp?: OtlpSettings | undefined;
  /** Whether calls are counted for `lintel top`. */
  readonly status: boolean;
  /** Providers of backends, by the backends' names. */
  readonly providers: ReadonlyMap<string, string>;
  /** `service.name`. Default: `lintel`. */
  readonly service?: string | undefined;
  /** Version of this gateway. */
  readonly version: string;
}
