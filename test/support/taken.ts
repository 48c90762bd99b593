/** Connections as the servers of this process have them. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { onTestFinished } from "vitest";

/** Looks out for connections. @returns resolves once the one that was taken last is closed at the server, too */
export function closeOfLast(): () => Promise<void> {
  let closed = Promise.resolve();
  const notice = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    closed = new Promise((resolve) => socket.once("close", () => resolve()));
  };
  subscribe("net.server.socket", notice);
  onTestFinished(() => void unsubscribe("net.server.socket", notice));
  return () => closed;
}
