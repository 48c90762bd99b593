/** Connections that a proxy opens for us, by `CONNECT`. */
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { buildConnector as Connectors } from "undici";
import { longestTimerMs } from "../../core/timers.js";
import type { ClientTls } from "./client-tls.js";
import { connector } from "./connect.js";
import { type HttpProxy, portOf } from "./proxy.js";
import { ProxyError, wordsOf } from "./proxy-error.js";
import { isOwnLack } from "./transport-error.js";

/**
 * What makes connections through a proxy, in place of undici's own: with TLS to https: targets,
 * bare to others. undici's `ProxyAgent` tells neither a slow proxy nor why one refused.
 * @param timeout longest time until the connection is there, milliseconds
 * @param tls for https: targets. Default: what Node trusts, and no certificate to show
 */
export function throughTunnel(
  proxy: HttpProxy,
  timeout: number,
  tls?: ClientTls,
): Connectors.connector {
  // Our own timer has the whole way.
  const withTls = connector({ timeout: 0, tls });
  return (target, callback) => {
    const { protocol } = target;
    let over = false;
    /** The way to the target, until it is the caller's. */
    let way: Socket | undefined;
    const end = (error: Error | undefined, made?: Socket): void => {
      if (over) return void made?.destroy();
      over = true;
      clearTimeout(timer);
      if (made) callback(null, made);
      else callback(error ?? new ProxyError(proxy, "failed"), null);
    };
    const fail = (words: string, cause?: Error) => {
      end(isOwnLack(cause) ? cause : new ProxyError(proxy, words, { cause }));
      way?.destroy();
      request.destroy();
    };
    const timer = setTimeout(
      () => fail(`opened no connection to the model server within ${timeout} ms`),
      Math.min(timeout, longestTimerMs),
    );
    const request = connectRequest(proxy, target);
    request.on("error", (error) => fail(`failed: ${wordsOf(error)}`, error));
    request.once("connect", ({ statusCode = 0 }, socket: Socket, head) => {
      // Its errors come to whoever uses it; until then nobody listens.
      socket.on("error", () => {});
      way = socket;
      if (statusCode < 200 || statusCode > 299) {
        return fail(`answered CONNECT with status ${statusCode}`);
      }
      if (over) return socket.destroy();
      if (head.length > 0) socket.unshift(head);
      if (protocol !== "https:") return end(undefined, socket);
      // It returns the socket, whatever its type says: that of TLS, which has the other one in it.
      way = withTls({ ...target, httpSocket: socket }, (...[error, made]) => {
        if (made) end(undefined, made);
        else fail(`led to no TLS connection: ${wordsOf(error)}`, error);
      }) as unknown as Socket;
    });
    request.end();
  };
}

function connectRequest(proxy: HttpProxy, target: Connectors.Options) {
  const { hostname } = target;
  const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
  const authority = `${host}:${portOf(target)}`;
  const secure = proxy.protocol === "https:";
  return (secure ? secureRequest : plainRequest)({
    method: "CONNECT",
    host: proxy.hostname,
    port: proxy.port,
    path: authority,
    // One of its own: Node's common one may be told to use a proxy, too.
    agent: false,
    // Else it is read out of the header `host`, which has the target.
    ...(secure && { servername: isIP(proxy.hostname) === 0 ? proxy.hostname : "" }),
    headers: {
      host: authority,
      connection: "keep-alive",
      "proxy-connection": "keep-alive",
      ...(proxy.authorization !== undefined && { "proxy-authorization": proxy.authorization }),
    },
  });
}
