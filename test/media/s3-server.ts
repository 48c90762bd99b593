/** A real S3 server, versitygw, with one bucket. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/port.js";

/** The server's program, or `undefined` where it is not installed. */
export const versitygw = ["versitygw", process.env.VERSITYGW ?? ""].find(
  (program) => program !== "" && spawnSync(program, ["--version"]).status === 0,
);

/** A server that runs. */
export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Folder in which the objects lie as files. */
  readonly directory: string;
  close(): Promise<void>;
}

/** Starts the server on loopback. */
export async function startS3(): Promise<S3Server> {
  const root = mkdtempSync(join(tmpdir(), "lintel-s3-"));
  const bucket = "pictures";
  mkdirSync(join(root, "data", bucket), { recursive: true });
  mkdirSync(join(root, "meta"));
  const port = await freePort();
  const [accessKeyId, secretAccessKey] = ["lintel-test", "lintel-test-secret"];
  const child = spawn(
    versitygw ?? "versitygw",
    [
      ...["--port", `127.0.0.1:${port}`, "--access", accessKeyId, "--secret", secretAccessKey],
      ...["--quiet", "posix", "--sidecar", join(root, "meta"), join(root, "data")],
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const ended = once(child, "exit");
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    accessKeyId,
    secretAccessKey,
    directory: join(root, "data", bucket),
    async close() {
      child.kill();
      await ended;
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
