/** Listening at an address. */
import { lstat, rm } from "node:fs/promises";
import type { Server } from "node:net";
import { listens } from "../listens.js";
import { pipes } from "../socket-path.js";
import type { Address, ListenOptions } from "./settings.js";

/**
 * How many connections wait in the kernel for their turn, where it lets them (`somaxconn`). Node
 * asks for 511, and takes one in each turn of its event loop: of a fleet that comes back at once
 * the others were not heard, and tried again seconds later.
 */
const backlog = 65_535;

/**
 * Makes a server listen; what a killed process left of a Unix socket is no hindrance.
 * @returns where it listens: on a system without IPv6, `::` means every interface all the same
 * @throws as Node does if the address is in use or not allowed (`error.code`)
 */
export async function bind(server: Server, wanted: ListenOptions): Promise<Address> {
  const { path, exclusive = false } = wanted;
  const attempt = (address: Address) =>
    new Promise<Address>((resolve, reject) => {
      const { host, port, path } = address;
      const at = path === undefined ? { host, port } : { path };
      server.once("error", reject);
      server.listen({ ...at, exclusive, backlog }, () => {
        server.off("error", reject);
        resolve(address);
      });
    });
  // Ahead of the attempt, not behind one that failed: of several processes at one address
  // Node counts the attempts, and takes two that differ for addresses of their own.
  if (path !== undefined && (await isLeftover(path))) await rm(path, { force: true });
  try {
    return await attempt(wanted);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EAFNOSUPPORT" || wanted.host !== "::") throw error;
    return attempt({ host: "0.0.0.0", port: wanted.port });
  }
}

/** Whether nobody listens on a socket any more, because its process was killed. */
async function isLeftover(path: string): Promise<boolean> {
  // A pipe ends with its process, and to look at one is to connect to it.
  if (pipes) return false;
  const info = await lstat(path).catch(() => undefined);
  if (!info?.isSocket()) return false;
  return (await listens({ path })) === "refused";
}
