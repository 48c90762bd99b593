/** A real Chromium, where `LINTEL_CHROMIUM` names its program (`.ci/run` does). */
import { type Browser, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";

const executablePath = process.env.LINTEL_CHROMIUM;

/** Whether there is none. */
export const noBrowser = !executablePath;
/** Beside the names of tests that are left out for that. */
export const why = executablePath ? "" : " (skipped: LINTEL_CHROMIUM is not set)";
if (noBrowser) {
  console.warn("LINTEL_CHROMIUM, the program of a Chromium, is not set: the console is not tested");
}

let launched: Promise<Browser> | undefined;

/** One for all tests of a file. */
const browser = (): Promise<Browser> => {
  launched ??= chromium.launch({
    executablePath: executablePath as string,
    // As root, and where little memory is shared, as in containers.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    // Tests of commands in the same process send signals, at which it would end.
    ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
  });
  return launched;
};

/** Ends it, at the end of each file: what it writes would outlive the tests. */
export async function closeBrowser(): Promise<void> {
  const closing = launched;
  launched = undefined;
  await (await closing)?.close();
}

/** A page, and what it said and asked for by itself. */
export interface Watched {
  readonly page: Page;
  /** Mistakes of its script, and what its policy forbade. */
  readonly faults: string[];
  /** Origins that it loaded something from. */
  readonly origins: Set<string>;
}

/**
 * Opens the console of a gateway, with nothing kept from before.
 * @param path from the begin of its address on, as in `#images`
 * @param before what is to be done with the page ahead of that
 */
export async function opened(
  url: string,
  path = "",
  before?: (page: Page) => Promise<unknown>,
): Promise<Watched> {
  const context = await (await browser()).newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  const origins = new Set<string>();
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // A refusal is no fault of the page.
    if (message.type() === "error" && !/^Failed to load resource/.test(message.text())) {
      faults.push(message.text());
    }
  });
  page.on("request", (request) => {
    if (/^https?:/.test(request.url())) origins.add(new URL(request.url()).origin);
  });
  page.on("dialog", (dialog) => dialog.accept());
  await before?.(page);
  await page.goto(`${url}/${path}`);
  return { page, faults, origins };
}

/** What can be seen by its label, where other parts of the page have the like. */
export const labelled = (page: Page, label: string) =>
  page.getByLabel(label, { exact: true }).filter({ visible: true });

/** A button that can be seen. */
export const button = (page: Page, name: string) =>
  page.getByRole("button", { name, exact: true }).filter({ visible: true });

/** Says something to a model. */
export async function say(page: Page, text: string): Promise<void> {
  await labelled(page, "Message").fill(text);
  await labelled(page, "Message").press("Enter");
}
