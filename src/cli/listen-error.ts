/** Why an address can't be listened on, in one line. */
import { existsSync, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { pipes } from "../socket-path.js";

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses this address",
  EACCES: pipes
    ? "not permitted (another program has it alone, or Windows keeps it: netsh interface ipv4 show excludedportrange tcp)"
    : "not permitted (ports below 1024 need privileges)",
  EPERM: "not permitted",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "there is no such host name",
  EAI_AGAIN: "the host name can't be looked up",
};

/** A folder that is missing is EACCES, too: libuv makes it so, as Windows has it, whose pipes lie in none. */
const socketReasons = (path: string): Readonly<Record<string, string | undefined>> => ({
  EACCES: existsSync(dirname(path)) ? "not permitted" : "the socket's folder does not exist",
  EADDRINUSE: lstatSync(path, { throwIfNoEntry: false })?.isSocket()
    ? undefined
    : "a file or a folder is there already",
});

/** The line for an error of `listen`, or `undefined` if it is another error. */
export function listenError(error: unknown): string | undefined {
  const { code, syscall, address, hostname, port, message } = error as NodeJS.ErrnoException & {
    address?: string;
    hostname?: string;
    port?: number;
  };
  if (code === undefined || !["listen", "bind", "getaddrinfo"].includes(syscall ?? "")) {
    return undefined;
  }
  const host = address ?? hostname ?? "";
  if (port === undefined || port < 0) {
    const reason = pipes ? undefined : socketReasons(host)[code];
    return `can't listen on ${host}: ${reason ?? reasons[code] ?? message}`;
  }
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return `can't listen on ${where}: ${reasons[code] ?? message}`;
}
