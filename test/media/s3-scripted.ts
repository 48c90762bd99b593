/** An S3 server whose deletions the test answers. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** How a deletion is answered: an HTTP status, once that is known. */
type Answer = (name: string) => number | Promise<number>;

/** A server that runs until the test is over. */
export interface ScriptedS3 {
  readonly endpoint: string;
  /** Sizes of the objects by key, oldest first. */
  readonly objects: Map<string, number>;
  /** Methods of the requests so far, `LIST` for a listing. */
  readonly asked: string[];
  /** Headers of each object that was put. */
  readonly put: IncomingHttpHeaders[];
}

/** Starts the server on loopback. Each object is a second younger than the one before. */
export async function scriptedS3(
  objects: Map<string, number>,
  onDelete: Answer = () => 204,
  onList: () => Promise<void> = async () => {},
  onGet: (response: ServerResponse) => void = (response) => response.end(),
): Promise<ScriptedS3> {
  const asked: string[] = [];
  const put: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://s3");
    const [, , key = ""] = pathname.split("/");
    const listing = searchParams.has("list-type");
    asked.push(listing ? "LIST" : (request.method ?? ""));
    let size = 0;
    for await (const chunk of request) size += chunk.length;
    if (listing) {
      await onList();
      response.writeHead(200, { "content-type": "application/xml" }).end(listingOf(objects));
      return;
    }
    if (request.method === "PUT") {
      objects.set(key, size);
      put.push(request.headers);
    }
    if (request.method === "GET") {
      onGet(response.writeHead(200));
      return;
    }
    if (request.method !== "DELETE") {
      response.writeHead(200, { "last-modified": youngest }).end();
      return;
    }
    const status = await onDelete(key);
    if (status === 204) objects.delete(key);
    response.writeHead(status).end();
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, objects, asked, put };
}

/** When the objects of these tests were put, where one is asked for alone. */
const youngest = new Date(Date.UTC(2030, 0, 1)).toUTCString();

function listingOf(objects: Map<string, number>): string {
  const contents = [...objects].map(([key, size], i) => {
    const at = new Date(Date.UTC(2030, 0, 1, 0, 0, i)).toISOString();
    return `<Contents><Key>${key}</Key><Size>${size}</Size><LastModified>${at}</LastModified></Contents>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`;
}
