/** A bucket that speaks as much of S3 as images need, and can be away. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Bucket {
  readonly url: string;
  /** Whether connections break off. */
  away: boolean;
  close(): void;
}

const nothingListed =
  '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';

/** Starts one on loopback; `close` it when done. */
export async function startBucket(): Promise<Bucket> {
  const objects = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    if (bucket.away) return void request.socket.destroy();
    const { pathname, searchParams } = new URL(request.url ?? "", "http://s3");
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    if (searchParams.has("list-type")) {
      response.writeHead(200, { "content-type": "application/xml" }).end(nothingListed);
    } else if (request.method === "PUT") {
      objects.set(pathname, Buffer.concat(parts));
      response.writeHead(200).end();
    } else if (request.method === "DELETE") {
      objects.delete(pathname);
      response.writeHead(204).end();
    } else {
      const object = objects.get(pathname);
      response.writeHead(object ? 200 : 404).end(object);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bucket = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    away: false,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return bucket;
}
