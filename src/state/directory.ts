/** The folder for what a gateway keeps: the database, and usage on its way there. */
import { homedir } from "node:os";
import { join } from "node:path";

/** The user's state folder for Lintel, after the XDG base directory specification. */
export function defaultStateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "lintel");
}
