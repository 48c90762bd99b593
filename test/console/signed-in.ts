/** A gateway whose people sign in at a real provider, in a real browser. */
import type { Configuration } from "oidc-provider";
import { onTestFinished } from "vitest";
import { echo } from "../backends/openai-subject.js";
import { Upstream } from "../backends/upstream.js";
import { gateway } from "../support/gateway.js";
import { button, labelled, opened } from "./browser.js";
import { type Identity, resource, startProvider } from "./provider.js";

type Page = Awaited<ReturnType<typeof opened>>["page"];

const renewed = "scopes: [openid, offline_access], parameters: { prompt: consent }";

/** Lines of a configuration. @param more further fields of the sign-in */
export const configured = (identity: Identity, server: string, more: string) => `auth:
  mode: token
  oidc: [{ name: corp, issuer: "${identity.issuer}", audience: [lintel, console] }]
console:
  sign_in: [{ name: Corp, issuer: corp, ${more} }]
backends: [{ type: openai, name: server, url: "${server}", models: [chat] }]
`;

/** A gateway whose people sign in at a provider. @param more fields of the sign-in */
export async function signedInto(
  more = `client_id: console, resource: "${resource}", ${renewed}`,
  path = "",
  provider: Configuration = {},
) {
  const identity = await startProvider(provider);
  const server = await Upstream.start(echo);
  onTestFinished(() => server.close());
  const running = await gateway(configured(identity, server.url, more));
  identity.pages.add(`${running.url}/`);
  const { page, faults, origins } = await opened(running.url, path);
  const bodies: string[] = [];
  page.on("response", async (response) => {
    if (response.url().startsWith(running.url)) bodies.push(await response.text().catch(() => ""));
  });
  return { ...running, identity, page, faults, origins, bodies };
}

export const stored = (page: Page, kind: "localStorage" | "sessionStorage") =>
  page.evaluate(`JSON.stringify({ ...${kind} })`);

/** What the tab knows of who signed in. */
export const kept = async (page: Page): Promise<Record<string, string>> =>
  JSON.parse(await page.evaluate(`sessionStorage.getItem("lintel.session")`));

/** Changes what the tab knows of who signed in. */
export const change = (page: Page, values: object) =>
  page.evaluate(`sessionStorage.setItem("lintel.session", JSON.stringify({
    ...JSON.parse(sessionStorage.getItem("lintel.session")), ...${JSON.stringify(values)} }))`);

export const alert = (page: Page) => page.getByRole("alert").first();

/** Says something, and waits for the whole answer. */
export async function chats(page: Page) {
  const answered = page.getByText(/\d tokens/);
  const before = await answered.count();
  await labelled(page, "Message").fill("Hello");
  await button(page, "Send").click();
  await answered.nth(before).waitFor();
}

/** Signs out, and says so to the provider, too. */
export async function leave(page: Page) {
  await button(page, "Sign out").click();
  await page.getByRole("button", { name: "Yes, sign me out" }).click();
  await button(page, "Sign in with Corp").waitFor();
}
