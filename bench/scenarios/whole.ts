/** Answers that come whole, at several numbers of connections, and streams at full speed. */
import {
  answering,
  type Contestant,
  chatBody,
  headersOf,
  pathOf,
} from "../contestants/contestant.js";
import { cpuMicros, otherCore } from "../cores.js";
import { agentChat } from "../load/agent.js";
import { idle, warm } from "../load/warm.js";
import { wrk } from "../load/wrk.js";
import type { Figures, Scenario } from "./scenario.js";

/** Events of one unpaced stream, without `[DONE]`: 64 of text and the last. */
const eventsPerStream = 65;

interface Kind {
  readonly name: string;
  readonly about: string;
  readonly path?: string;
  readonly body: string;
  readonly connections: readonly number[];
  readonly events?: number;
}

function scenario(kind: Kind, contestants: readonly Contestant[]): Scenario {
  return {
    name: kind.name,
    about: kind.about,
    contestants,
    async measure(stage, name) {
      const contestant = contestants.find((one) => one.name === name) as Contestant;
      const port = stage.port();
      const process = contestant.start(port, stage.upstream, stage.folder);
      try {
        await answering(contestant, port);
        const load = (connections: number, seconds: number) =>
          wrk({
            folder: stage.folder,
            core: otherCore,
            url: `http://127.0.0.1:${port}${kind.path ?? pathOf(contestant)}`,
            connections,
            seconds,
            headers: headersOf(contestant),
            body: kind.body,
          });
        await warm(process.pid, async (seconds) => (await load(32, seconds)).requests);
        const figures: Figures = {};
        for (const connections of kind.connections) {
          // Of another number some functions take ways that they never took, and are compiled anew.
          for (let run = 0; run < 2; run++) await load(connections, 1);
          await idle(process.pid);
          const before = cpuMicros(process.pid);
          const result = await load(connections, stage.seconds);
          const cpu = cpuMicros(process.pid) - before;
          if (result.requests === 0) throw new Error("nothing was answered in time");
          figures[`cpu@${connections}`] = cpu / result.requests;
          figures[`rps@${connections}`] = result.perSecond;
          figures[`failures@${connections}`] = result.failures;
          if (kind.events) {
            figures[`events@${connections}`] = result.perSecond * kind.events;
            // What one core would do if nobody else had it.
            figures[`core@${connections}`] = (result.requests * kind.events * 1e6) / cpu;
          }
        }
        return figures;
      } finally {
        await process.stop();
      }
    },
  };
}

/** Non-streaming JSON. */
export const json = (contestants: readonly Contestant[]): Scenario =>
  scenario(
    {
      name: "json",
      about: "POST /v1/chat/completions, answered whole",
      body: chatBody("bench", false),
      connections: [1, 32, 256],
    },
    contestants,
  );

/** Streams of 64 chunks, as fast as they come. */
export const sse = (contestants: readonly Contestant[]): Scenario =>
  scenario(
    {
      name: "sse",
      about: "streams of 64 chunks, not paced",
      body: chatBody("bench", true),
      connections: [64],
      events: eventsPerStream,
    },
    contestants,
  );

/** The same from a server that writes each chunk by itself, as those do that batch. */
export const sseApart = (contestants: readonly Contestant[]): Scenario =>
  scenario(
    {
      name: "sse-apart",
      about: "streams of 64 chunks, not paced, each written by itself as model servers do",
      body: chatBody("apart", true),
      connections: [64],
      events: eventsPerStream,
    },
    contestants,
  );

/** A coding agent's turn. */
export const agent = (contestants: readonly Contestant[]): Scenario =>
  scenario(
    {
      name: "agent",
      about: "POST /v1/chat/completions, a coding agent's turn of 400 KB, answered whole",
      body: agentChat("bench"),
      connections: [8],
    },
    contestants,
  );

/** What asks for an image of 2 MB. */
export const imageRequest = {
  path: "/v1/images/generations",
  body: JSON.stringify({
    model: "picture",
    prompt: "a beam above a door",
    response_format: "b64_json",
    size: "512x1000",
  }),
};

/** An image of 2 MB. */
export const image = (contestants: readonly Contestant[]): Scenario =>
  scenario(
    {
      name: "image",
      about: "POST /v1/images/generations, a PNG of 1.5 MB as 2 MB of base64",
      ...imageRequest,
      connections: [4],
    },
    contestants.filter(({ images }) => images),
  );
