/** The page for browsers, and how people sign in to it. */
import * as z from "zod";
import type { SignInSettings } from "../oidc/sign-in-settings.js";
import { name } from "./fields.js";
import { withoutFragment } from "./http-fields.js";
import { issuerSettings } from "./issuers.js";
import { type Finding, formatPath, type Path } from "./problems.js";
import { type Fields, fields, list, texts } from "./raw.js";
import type { Config } from "./schema.js";
import { didYouMean } from "./suggest.js";

/** What the gateway says itself of each sign-in. */
const own = [
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "nonce",
  "redirect_uri",
  "resource",
  "response_mode",
  "response_type",
  "scope",
  "state",
];

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, {
  error: "must be one scope, with no blanks and no quotes",
});

const signIn = z.strictObject({
  name: name.max(100).describe("What its button says."),
  issuer: name.describe("The issuer that people sign in at: its name in auth.oidc."),
  tenant: name
    .optional()
    .describe(
      "Which of the issuer's tenants they sign in at. Default: the only one that there is.",
    ),
  client_id: name.describe("The client, as the issuer knows it."),
  client_secret: name
    .optional()
    .describe("Its secret, which no page is told. Default: it has none (a public client)."),
  scopes: z
    .array(scope)
    .refine((scopes) => scopes.includes("openid"), { error: "must have openid among them" })
    .default(["openid"])
    .describe(
      "What is asked for: offline_access, where the issuer wants that for sign-ins that are renewed, and the scopes of an API, where these make the access token one for it.",
    ),
  token: z
    .enum(["access_token", "id_token"])
    .default("access_token")
    .describe(
      "What calls are made with. Its aud must be among the issuer's audience; that of the id_token is the client_id.",
    ),
  resource: z
    .url({ error: "must be an address, such as https://lintel.example.com or api://lintel" })
    .check(withoutFragment)
    .optional()
    .describe("What the access token is to be for, where the issuer looks at that (RFC 8707)."),
  parameters: z
    .record(name, z.string())
    .refine((all) => !own.some((key) => Object.hasOwn(all, key)), {
      error: `must have none of ${own.join(", ")}: these are said already`,
    })
    .default({})
    .describe(
      "More that people are sent to the issuer with, such as audience (Auth0), access_type (Google) or domain_hint (Entra).",
    ),
});

const settings = z.strictObject({
  sign_in: z
    .array(signIn)
    .max(20)
    .default([])
    .describe("How people sign in to it with their company's identity provider."),
});

/** The section `console` of the configuration: `true` and `false` are short for one with nothing to set. */
export const consoleSchema = z
  .union([z.boolean(), settings], { error: "must be true, false, or a mapping with sign_in" })
  .transform((value) =>
    typeof value === "boolean" ? { enabled: value, sign_in: [] } : { enabled: true, ...value },
  );

/** How people sign in; none where the issuers are not looked at. */
export function signInSettings({
  auth,
  console,
}: Pick<Config, "auth" | "console">): SignInSettings[] {
  if (auth.mode !== "token") return [];
  const issuers = issuerSettings(auth);
  return console.sign_in.flatMap((entry): SignInSettings[] => {
    const tenants = auth.oidc.find(({ name }) => name === entry.issuer)?.tenants ?? [];
    const place = entry.tenant === undefined ? 0 : tenants.indexOf(entry.tenant);
    const issuer = issuers.filter(({ name }) => name === entry.issuer)[place];
    if (!issuer) return [];
    return [
      {
        name: entry.name,
        issuer,
        clientId: entry.client_id,
        clientSecret: entry.client_secret,
        scopes: entry.scopes,
        token: entry.token,
        resource: entry.resource,
        parameters: entry.parameters,
      },
    ];
  });
}

/** Sign-ins at issuers and tenants that there are none of. @param value as it stands in the file */
export function checkConsole({ console: value, auth }: Fields): Finding[] {
  const issuers = list(fields(auth).oidc);
  const names = issuers.map(({ name }) => name).filter((one) => typeof one === "string");
  return list(fields(value).sign_in).flatMap((entry, i): Finding[] => {
    const { issuer, tenant, token, client_id } = entry;
    const path: Path = ["console", "sign_in", i];
    if (typeof issuer !== "string" || issuer === "") return [];
    const place = issuers.findIndex(({ name }) => name === issuer);
    const found = issuers[place];
    if (!found) {
      const message = `is no issuer of auth.oidc${didYouMean(issuer, names)}`;
      return [{ path: [...path, "issuer"], message }];
    }
    const where = formatPath(["auth", "oidc", place]);
    const audience = texts([found.audience].flat());
    const foreign =
      token === "id_token" && typeof client_id === "string" && !audience.includes(client_id);
    const findings: Finding[] = foreign
      ? [
          {
            path: [...path, "token"],
            message: `is id_token, whose aud is the client_id: ${where}.audience must have "${client_id}"`,
          },
        ]
      : [];
    const tenants = texts(found.tenants);
    if (tenant === undefined && tenants.length > 1) {
      const message = `is required: ${where} has several tenants`;
      return [...findings, { path: [...path, "tenant"], message }];
    }
    if (typeof tenant === "string" && !tenants.includes(tenant)) {
      const message = `is no tenant of ${where}${didYouMean(tenant, [...tenants])}`;
      return [...findings, { path: [...path, "tenant"], message }];
    }
    return findings;
  });
}
