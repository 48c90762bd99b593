/** Whether there is anybody at an address. */
import { connect } from "node:net";

/** Whether anything accepts connections there, within some milliseconds. Never throws. */
export function listens({ hostname, port }: URL, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port) });
    const end = (there: boolean) => {
      socket.destroy();
      resolve(there);
    };
    socket.setTimeout(timeoutMs, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
