/**
 * Makes docs/console.png: the console in a browser, before a gateway with the embedded models.
 *
 *   LINTEL_CHROMIUM=/usr/bin/chromium node scripts/console-picture.js
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import sharp from "sharp";
import { buildIfStale } from "./build.js";

const root = fileURLToPath(new URL("..", import.meta.url));

if ((await buildIfStale()) !== 0) process.exit(1);
const folder = mkdtempSync(join(tmpdir(), "lintel-picture-"));
// In a folder without a configuration.
const gateway = spawn(process.execPath, [join(root, "dist/src/main.js"), "serve"], {
  cwd: folder,
  env: { ...process.env, HOST: "127.0.0.1", PORT: "0" },
  stdio: ["ignore", "pipe", "ignore"],
});
let browser;
try {
  const url = await addressOf(gateway.stdout);
  browser = await chromium.launch({
    executablePath: process.env.LINTEL_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const page = await browser.newPage({ viewport: { width: 1200, height: 600 } });
  await page.goto(`${url}#images`);
  await page.getByLabel("Seed").filter({ visible: true }).fill("11");
  await page
    .getByLabel("Prompt", { exact: true })
    .fill("a large yellow star on a purple background | a red heart on a green background");
  await page.getByRole("button", { name: "Draw" }).click();
  // The second one is on its way.
  await page.waitForFunction(() => /image 2 of 2, step \d\d/.test(document.body.innerText));
  const png = await page.screenshot();
  await sharp(png).png({ palette: true, effort: 10 }).toFile(join(root, "docs/console.png"));
} finally {
  await browser?.close();
  gateway.kill("SIGTERM");
  await new Promise((resolve) => gateway.once("exit", resolve));
  rmSync(folder, { recursive: true });
}

/** Where a gateway says that it listens. */
async function addressOf(stdout) {
  for await (const line of createInterface({ input: stdout })) {
    const [, url] = / on (http:\S+)$/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error("the gateway ended");
}
