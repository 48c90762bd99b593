/** The page for people with a browser: gen/console.html, made of src/console. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Door } from "./door.js";
import { type SignIns, signInDoor } from "./sign-in.js";

const file = new URL("../../gen/console.html", import.meta.url);

/** What an address serves that a page can show. */
export type Served = "calls" | "administration";

/**
 * `GET /`, and what the page asks for signing in. The page holds no secret: what it shows it asks for with the token of
 * who looks at it.
 * @param served what there is to show at the door's address
 * @param signIns how people sign in at the moment; `undefined`: they don't
 */
export const webConsole =
  (served: readonly Served[], signIns: () => SignIns | undefined = () => undefined): Door =>
  async (app, options) => {
    await app.register(signInDoor(signIns), options);
    let page: Page | undefined;
    let shown: readonly string[] | undefined;
    app.get("/", (request, reply) => {
      const names = signIns()?.names ?? none;
      if (!page || names !== shown) page = readPage(served, names);
      shown = names;
      reply.headers(page.headers);
      if (request.headers["if-none-match"] === page.headers.etag) return reply.code(304).send();
      return reply.type("text/html; charset=utf-8").send(page.text);
    });
  };

interface Page {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Nobody signs in. */
const none: readonly string[] = [];

function readPage(served: readonly Served[], names: readonly string[]): Page {
  const text = readFileSync(file, "utf8").replace(
    'data-serves="" data-sign-in="[]"',
    () => `data-serves="${served.join(" ")}" data-sign-in="${escaped(JSON.stringify(names))}"`,
  );
  return {
    text,
    headers: {
      etag: `"${hashOf(text).slice(0, 22)}"`,
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "content-security-policy": policyOf(text),
    },
  };
}

/**
 * Runs what stands in the page itself and nothing else, whatever a model writes. Pictures may be
 * anywhere, as stores of images are.
 */
function policyOf(text: string): string {
  const inside = (name: string) =>
    [...text.matchAll(new RegExp(`<${name}[^>]*>([^]*?)</${name}>`, "g"))]
      .map(([, own = ""]) => `'sha256-${hashOf(own)}'`)
      .join(" ");
  return [
    "default-src 'none'",
    `script-src ${inside("script")}`,
    `style-src ${inside("style")}`,
    "img-src 'self' data: http: https:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** As a text stands in an attribute. */
const escaped = (text: string): string =>
  text.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64");
