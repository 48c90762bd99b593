/**
 * The files of the journal. Each belongs to one process and is named after it:
 * host, process id, a random word, a number that counts up.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

/** The files' folder in the state folder. */
export const journalFolder = "usage";

/** Ending of the files' names. */
export const extension = ".journal";

/** After which time without a sign a process of another host counts as dead, milliseconds. */
const deadMs = 120_000;

const host = hostname().replace(/[^\w-]/g, "_") || "host";
const own = `${host}.${process.pid}.${randomBytes(6).toString("hex")}`;

/** Names for this process's files, ascending. */
export const segmentName = (number: number): string =>
  `${own}.${String(number).padStart(10, "0")}${extension}`;

/**
 * What a file is named once this process took it over. Who writes to it nevertheless sees that
 * it is gone, whatever could be known of that process: those of two containers may have one host
 * name and one id.
 */
export const takenName = (name: string): string => `${own}.${name.split(".").slice(-3).join(".")}`;

/** Whether this process wrote a file, or took it over. */
export const isOwn = (name: string): boolean => name.startsWith(`${own}.`);

/**
 * Whether nobody writes to a file any more.
 * @param ageMs since it was last written or touched; its process touches it while it lives
 */
export function isOrphan(name: string, ageMs: number): boolean {
  if (!name.endsWith(extension) || isOwn(name)) return false;
  const [theirHost, pid] = name.split(".");
  if (ageMs > deadMs) return true;
  return theirHost === host && !isRunning(Number(pid));
}

/** In a container that was started again, an earlier process had this one's id. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
