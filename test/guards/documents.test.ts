/** Guards and PDFs: a whole gateway, whose reader they use. */
import { expect, onTestFinished, test } from "vitest";
import { Upstream } from "../backends/upstream.js";
import { firstExtra, lines, pdf } from "../documents/pdf.js";
import { gateway } from "../support/gateway.js";

const mail = (more: string) => `{ name: g, type: pattern, find: [email], ${more} }`;

/** Asks a gateway with one guard about a PDF: what its caller hears, and what the model server was asked. */
async function asked(
  guard: string,
  bytes: Buffer,
  more = "",
  words = "What is it?",
  type = "application/pdf",
) {
  const bodies: string[] = [];
  const upstream = await Upstream.start(async (exchange) => {
    if (exchange.request.method === "GET") return exchange.sendJson(404, {});
    bodies.push(exchange.request.body.toString());
    const message = { role: "assistant", content: "ok" };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return exchange.sendJson(200, { id: "1", created: 1, model: "m", choices });
  });
  onTestFinished(() => upstream.close());
  const backends = `backends: [{ type: openai, name: a, url: "${upstream.url}", models: [m] }]`;
  const it = await gateway(`${backends}\nguards: [${guard}]\n${more}`);
  const file_data = `data:${type};base64,${bytes.toString("base64")}`;
  const content = [
    ...(words ? [{ type: "text", text: words }] : []),
    { type: "file", file: { filename: words && "a.pdf", file_data } },
  ];
  const response = await fetch(`${it.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer me", "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content }] }),
  });
  return {
    status: response.status,
    warnings: response.headers.get("x-lintel-warnings") ?? "",
    error: ((await response.json()) as { error?: { message: string } }).error,
    bodies,
  };
}

const secret = pdf([lines("Write to me@example.com today")]);
const field = "messages[0].content[1].file.file_data";

test("what a PDF says is masked: it goes on as a file of its text", async () => {
  const { status, warnings, bodies } = await asked(mail("action: mask"), secret);
  expect(status).toBe(200);
  expect(warnings).toContain('guards: "g" replaced a part of the request');
  const [body = ""] = bodies;
  expect(body).toContain("Write to [email] today");
  expect(body).toContain("What is it?");
  expect(body).toContain("a.pdf");
  expect(body).not.toContain("me@example.com");
});

test("a PDF that says what is blocked reaches nobody; another one goes on as it came", async () => {
  const blocked = await asked(mail("action: block"), secret);
  expect(blocked.status).toBe(400);
  expect(blocked.error).toMatchObject({ code: "content_blocked", param: field });
  expect(blocked.bodies).toEqual([]);
  const good = pdf([lines("Nothing to see")]);
  const passed = await asked(mail("action: block"), good);
  expect(passed.status).toBe(200);
  expect(passed.bodies.join()).toContain(good.toString("base64"));
});

test("what a form in a PDF is filled with is looked at", async () => {
  const filled = pdf([lines("Nothing to see")], {
    entries: `/Annots [${firstExtra(1)} 0 R]`,
    extra: [
      "<< /Type /Annot /Subtype /Widget /FT /Tx /T (m) /V (me@example.com) /Rect [0 0 9 9] >>",
    ],
  });
  const { error, bodies } = await asked(mail("action: block"), filled);
  expect([error, bodies]).toMatchObject([{ code: "content_blocked", param: field }, []]);
});

/** XMP that says something. */
const xmp = (said: string) => ({
  dictionary: "/Type /Metadata /Subtype /XML",
  bytes: Buffer.from(
    `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
      `<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/">${said}</rdf:Description></rdf:RDF></x:xmpmeta>`,
  ),
});
const inInfo = { trailer: `/Info ${firstExtra(1)} 0 R` };
const inXmp = { catalog: `/Metadata ${firstExtra(1)} 0 R` };

test.each([
  ["title", inInfo, "<< /Title (Of me@example.com) >>"],
  ["author", inInfo, "<< /Author (me@example.com) /Title (Nothing) >>"],
  ["entry of its own", inInfo, "<< /Owner (me@example.com) >>"],
  [
    "title in XMP",
    inXmp,
    xmp("<dc:title><rdf:Alt><rdf:li>Of me@example.com</rdf:li></rdf:Alt></dc:title>"),
  ],
  [
    "author in XMP",
    inXmp,
    xmp(
      "<dc:creator><rdf:Seq><rdf:li>a</rdf:li><rdf:li>me@example.com</rdf:li></rdf:Seq></dc:creator>",
    ),
  ],
  ["keyword in XMP", inXmp, xmp("<pdf:Keywords>me@example.com</pdf:Keywords>")],
])("the %s of a PDF is looked at", async (_, where, body) => {
  const file = pdf([lines("Nothing to see")], { ...where, extra: [body] });
  const blocked = await asked(mail("action: block"), file);
  expect([blocked.error, blocked.bodies]).toMatchObject([
    { code: "content_blocked", param: field },
    [],
  ]);
  const masked = await asked(mail("action: mask"), file);
  expect(masked.status).toBe(200);
  expect(masked.bodies.join()).toMatch(/\[email\].*Nothing to see/);
});

test("dates of a PDF are not looked at, and one with a title goes on as it came", async () => {
  const info = "<< /Title (Plan) /CreationDate (D:20260128me@example.com) >>";
  const file = pdf([lines("Nothing to see")], { ...inInfo, extra: [info] });
  const { status, bodies } = await asked(mail("action: block"), file);
  expect([status, bodies.length]).toEqual([200, 1]);
  expect(bodies.join()).toContain(file.toString("base64"));
});

test("a PDF is one wherever it begins in its first 1024 bytes", async () => {
  for (const ahead of [1, 1019]) {
    const late = Buffer.concat([Buffer.alloc(ahead, "\n"), secret]);
    const { error, bodies } = await asked(
      mail("action: block"),
      late,
      "",
      "What is it?",
      "application/octet-stream",
    );
    expect([error, bodies]).toMatchObject([{ code: "content_blocked", param: field }, []]);
  }
});

test("a PDF is one whatever its type says", async () => {
  const type = "application/octet-stream";
  const { error, bodies } = await asked(mail("action: block"), secret, "", "What is it?", type);
  expect([error, bodies]).toMatchObject([{ code: "content_blocked", param: field }, []]);
});

test.each(["application/octet-stream", "application/x-unknown"])(
  "a text is one whatever its type says: %s",
  async (type) => {
    const text = Buffer.from("Grüße, me@example.com");
    const ask = (bytes: Buffer) => asked(mail("action: mask"), bytes, "", "What is it?", type);
    const { bodies } = await ask(text);
    expect(bodies.join()).toContain("Grüße, [email]");
    // What no model reads as text nobody looks at.
    for (const bytes of [Buffer.concat([text, Buffer.alloc(1)]), Buffer.from("ü", "latin1")]) {
      const { status, bodies } = await ask(bytes);
      expect([status, bodies.join().includes(bytes.toString("base64"))]).toEqual([200, true]);
    }
  },
);

test("pictures of pages are not looked at: a PDF of them alone is refused, one with some passes", async () => {
  const drawn = "0 0 99 99 re f";
  const scanned = await asked(mail("action: flag"), pdf([drawn]));
  expect(scanned.error).toMatchObject({ code: "content_blocked", param: field });
  expect(scanned.bodies).toEqual([]);
  const some = await asked(mail("action: flag"), pdf([lines("Nothing to see"), drawn]));
  expect([some.status, some.warnings, some.bodies.length]).toEqual([200, "", 1]);
});

test.each([
  ["that is broken", Buffer.from("%PDF-1.4 and no more"), ""],
  ["where nobody reads any", secret, "documents: { read: false }"],
])("a PDF %s is refused, or passes with a warning", async (_what, bytes, more) => {
  const closed = await asked(mail("action: flag"), bytes, more);
  expect(closed.error).toMatchObject({ code: "content_blocked", param: field });
  expect(closed.error?.message).toContain(`${field}: the guard "g" can't look at it: `);
  expect(closed.bodies).toEqual([]);
  const open = await asked(mail("action: flag, on_failure: open"), bytes, more);
  expect(open.bodies).toHaveLength(1);
  expect(open.status).toBe(200);
  expect(open.warnings).toContain(
    'guards: "g" can\'t look at a file or an image, which was passed on',
  );
});

test("a PDF that one guard passes unread is the next one's, also where nothing else is said", async () => {
  const guards = `${mail("on_failure: open")}, ${mail("action: flag").replace("name: g", "name: h")}`;
  const { error, bodies } = await asked(guards, Buffer.from("%PDF-1.4 and no more"), "", "");
  expect(error?.message).toContain('the guard "h" can\'t look at it');
  expect(bodies).toEqual([]);
});
