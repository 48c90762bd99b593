/** The page at `GET /`: what is sent with it, and where it is. What it does: test/console. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { webConsole } from "../../src/doors/console.js";
import { gateway } from "../support/gateway.js";
import { says, scripted } from "../support/scripted.js";
import { serve } from "./serve.js";

const shown = { moreDoors: [webConsole(["calls"])] };

test("the page runs what stands in it, and nothing else", async () => {
  const { url } = await serve(scripted({ chat: says("Hi") }), shown);
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
  const text = await response.text();
  const policy = response.headers.get("content-security-policy") ?? "";
  const directives = new Map(
    policy.split("; ").map((one) => one.split(/ (.*)/s, 2) as [string, string]),
  );
  for (const name of ["script", "style"]) {
    const inside = new RegExp(`<${name}[^>]*>([^]*?)</${name}>`, "g");
    const all = [...text.matchAll(inside)].map(([, own = ""]) => own);
    expect(all.map((own) => own.length > 1000)).toEqual([true]);
    const [hash] = all.map((own) => createHash("sha256").update(own).digest("base64"));
    expect(directives.get(`${name}-src`)).toBe(`'sha256-${hash}'`);
  }
  expect(directives.get("default-src")).toBe("'none'");
  expect(directives.get("connect-src")).toBe("'self'");
  expect(directives.get("frame-ancestors")).toBe("'none'");
  // Nothing is asked for elsewhere, and no attribute is a script.
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
});

test("who has it already is told so, and who only looks gets no body", async () => {
  const { url } = await serve(scripted({ chat: says("Hi") }), shown);
  const first = await fetch(url);
  const etag = first.headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[^"]{20,}"$/);
  const again = await fetch(url, { headers: { "if-none-match": etag } });
  expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
  expect((await fetch(url, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  const head = await fetch(url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const posted = await fetch(url, { method: "POST" });
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("it is there unless the operator says otherwise", async () => {
  const more = "auth: { mode: token }\nbackends: []\n";
  const on = await gateway(more);
  expect(await (await fetch(on.url)).text()).toMatch(
    /<body data-serves="calls" data-sign-in="\[\]">/,
  );
  const off = await gateway(`${more}console: false\n`);
  const response = await fetch(off.url);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
});
