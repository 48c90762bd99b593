/** gRPC: the server alone, and through the gateway. */
import { answering } from "../contestants/contestant.js";
import { lintelFull, lintelPlain } from "../contestants/lintel.js";
import { cpuMicros, gatewayCore, pinned } from "../cores.js";
import { h2load } from "../load/h2load.js";
import { warm } from "../load/warm.js";
import type { Figures, Scenario, Stage } from "./scenario.js";

/** Messages of one stream. */
const messages = 100;

async function both(stage: Stage, port: number, pid: number, token: string) {
  const figures: Figures = {};
  for (const [method, name] of [
    ["Complete", "unary"],
    ["Chat", "stream"],
  ] as const) {
    const load = (seconds: number) =>
      h2load({ folder: stage.folder, port, method, seconds, token });
    await warm(pid, async (seconds) => (await load(seconds)).calls);
    const before = cpuMicros(pid);
    const { calls, perSecond } = await load(stage.seconds);
    const cpu = (cpuMicros(pid) - before) / calls;
    figures[`${name}Cpu`] = cpu;
    figures[`${name}PerSecond`] = perSecond;
    // What one core would do if nobody else had it.
    figures[`${name}Core`] = 1e6 / cpu;
    if (name === "stream") figures.messagesCore = (messages * 1e6) / cpu;
  }
  return figures;
}

export const grpcAlone: Scenario = {
  name: "grpc-alone",
  about: `gRPC servers with nothing behind them; streams of ${messages} messages`,
  contestants: [{ name: "edge" }, { name: "grpc-js" }],
  async measure(stage, kind) {
    const port = stage.port();
    const server = pinned(gatewayCore, "node", [
      ...["--import", "tsx", "bench/contestants/grpc-server.ts", kind, String(port)],
    ]);
    try {
      await listening(stage, port);
      return await both(stage, port, server.pid, "any");
    } finally {
      await server.stop();
    }
  },
};

export const grpcThrough: Scenario = {
  name: "grpc",
  about: `gRPC through the gateway to an OpenAI-compatible server; streams of ${messages} messages`,
  contestants: [lintelPlain, lintelFull],
  async measure(stage, name) {
    const contestant = [lintelPlain, lintelFull].find((one) => one.name === name) ?? lintelPlain;
    const port = stage.port();
    const server = contestant.start(port, stage.upstream, stage.folder);
    try {
      await answering(contestant, port);
      return await both(stage, port, server.pid, contestant.token);
    } finally {
      await server.stop();
    }
  },
};

/** Resolves once calls succeed. @throws the last failure after a while */
async function listening(stage: Stage, port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await h2load({ folder: stage.folder, port, method: "Complete", seconds: 1, token: "any" });
      return;
    } catch (thrown) {
      if (tries > 20) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}
