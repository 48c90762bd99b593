/** A collector: takes OTLP over HTTP as JSON, and lets a test wait for what came. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as it came, with its attributes as an object. */
export interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever came over the wire
type Json = any;

const attributeOf = (value: Json): unknown => {
  if (value.arrayValue) return value.arrayValue.values.map(attributeOf);
  const [only] = Object.values(value);
  return value.intValue === undefined ? only : Number(only);
};

const objectOf = (attributes: Json[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, attributeOf(value)]));

/** A collector that runs. */
export class Collector {
  readonly url: string;
  readonly spans: Span[] = [];
  /** What came of each metric last. */
  readonly metrics = new Map<string, Json>();
  readonly headers: IncomingHttpHeaders[] = [];
  /** What to answer. */
  status = 200;
  body = "{}";
  /** Seconds after which whoever is refused may come again; far off, an exporter gives up at once. */
  retryAfter = "3600";
  /** What answers wait for. */
  answersAfter: Promise<void> | undefined;
  readonly #server: Server;
  #changed: () => void = () => {};

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<Collector> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const collector = new Collector(server);
    server.on("request", async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      collector.headers.push(request.headers);
      const { status } = collector;
      if (status === 200) collector.#take(JSON.parse(Buffer.concat(parts).toString("utf8")));
      collector.#changed();
      await collector.answersAfter;
      const headers = { "content-type": "application/json", "retry-after": collector.retryAfter };
      response.writeHead(status, headers).end(collector.body);
    });
    return collector;
  }

  /** Waits until something holds of what came. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** Points of a metric, with their attributes as objects. */
  points(name: string): { attributes: Record<string, unknown>; [field: string]: unknown }[] {
    const metric = this.metrics.get(name);
    const { dataPoints = [] } = metric?.sum ?? metric?.gauge ?? metric?.histogram ?? {};
    return dataPoints.map((point: Json) => ({ ...point, attributes: objectOf(point.attributes) }));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take({ resourceSpans = [], resourceMetrics = [] }: Json): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) {
        for (const span of spans) {
          const attributes = objectOf(span.attributes);
          this.spans.push({ ...span, attributes, resource: objectOf(resource.attributes) });
        }
      }
    }
    for (const { scopeMetrics } of resourceMetrics) {
      for (const { metrics } of scopeMetrics) {
        for (const metric of metrics) this.metrics.set(metric.name, metric);
      }
    }
  }
}
