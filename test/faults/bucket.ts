/** A bucket that speaks as much of S3 as images need, and can fail. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/**
 * What it does with requests: answers them; breaks connections off; takes a request and never answers; answers after
 * `slowMs`, having done what it was asked; says that it has too many; breaks answers off in the middle, of images, and of
 * all others at their beginning; sends half of an image and no more; does what it is asked, and never answers.
 */
export type Mood = "well" | "away" | "deaf" | "slow" | "busy" | "cut" | "halting" | "mute";

export interface Bucket {
  readonly url: string;
  mood: Mood;
  /** Keys of the objects that are there. */
  readonly keys: readonly string[];
  /** Methods of the requests that are being answered, or never will be. */
  readonly open: readonly string[];
  close(): void;
}

const slowMs = 2000;

interface Stored {
  readonly bytes: Buffer;
  readonly at: Date;
}

const busy = "<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Less.</Message></Error>";

/** Starts one on loopback; `close` it when done. */
export async function startBucket(): Promise<Bucket> {
  const objects = new Map<string, Stored>();
  let mood: Mood = "well";
  const open = new Set<IncomingMessage>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (mood === "away") return void request.socket.destroy();
    const { pathname, searchParams } = new URL(request.url ?? "", "http://s3");
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    if (mood === "deaf") return;
    if (mood === "busy") {
      response.writeHead(503, { "content-type": "application/xml" });
      return void response.end(request.method === "HEAD" ? undefined : busy);
    }
    const isImage = request.method === "GET" && !searchParams.has("list-type");
    if (mood === "cut" && !isImage && request.method !== "HEAD")
      return void request.socket.destroy();
    if (searchParams.has("list-type")) {
      response.writeHead(200, { "content-type": "application/xml" }).end(listingOf(objects));
    } else if (request.method === "PUT") {
      objects.set(pathname, { bytes: Buffer.concat(parts), at: new Date() });
      if (mood === "slow") await pause(slowMs);
      if (mood !== "mute") response.writeHead(200).end();
    } else if (request.method === "DELETE") {
      objects.delete(pathname);
      if (mood !== "mute") response.writeHead(204).end();
    } else {
      const object = objects.get(pathname);
      if (mood === "slow") await pause(slowMs);
      if (!object) return void response.writeHead(404).end();
      const { bytes, at } = object;
      response.writeHead(200, {
        "content-length": bytes.length,
        "last-modified": at.toUTCString(),
      });
      if (request.method === "HEAD") return void response.end();
      if (mood !== "cut" && mood !== "halting") return void response.end(bytes);
      response.write(bytes.subarray(0, bytes.length / 2), () => {
        if (mood === "cut") response.destroy();
      });
    }
  };
  const server = createServer((request, response) => {
    open.add(request);
    response.once("close", () => open.delete(request));
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get mood() {
      return mood;
    },
    set mood(next) {
      mood = next;
    },
    get keys() {
      return [...objects.keys()];
    },
    get open() {
      return [...open].map(({ method = "" }) => method);
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listingOf(objects: ReadonlyMap<string, Stored>): string {
  const contents = [...objects].map(([path, { bytes, at }]) => {
    // Behind the bucket.
    const key = path.replace(/^\/[^/]*\//, "");
    return `<Contents><Key>${key}</Key><Size>${bytes.length}</Size><LastModified>${at.toISOString()}</LastModified></Contents>`;
  });
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`;
}
