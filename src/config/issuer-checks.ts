/** Issuers that are the same, and tenants of issuers that have none. */
import { ofTenants, tenantMark } from "../oidc/tenants.js";
import { type Finding, formatPath, type Path } from "./problems.js";
import { type Fields, texts } from "./raw.js";

/** @param issuers as they stand in the file */
export function checkIssuers(issuers: readonly Fields[]): Finding[] {
  const first = new Map<string, number>();
  return issuers.flatMap(({ issuer, tenants }, i): Finding[] => {
    if (typeof issuer !== "string" || issuer === "") return [];
    const path: Path = ["auth", "oidc", i];
    const marked = issuer.includes(tenantMark);
    if (/[{}]/.test(issuer.replaceAll(tenantMark, ""))) {
      const message = `knows only ${tenantMark} in braces`;
      return [{ path: [...path, "issuer"], message }];
    }
    if (marked && tenants === undefined) {
      const message = `has ${tenantMark}; auth.oidc[${i}].tenants must say who may stand there`;
      return [{ path: [...path, "issuer"], message }];
    }
    if (!marked && tenants !== undefined) {
      const message = `is for an issuer with ${tenantMark} in its address, such as https://login.microsoftonline.com/${tenantMark}/v2.0`;
      return [{ path: [...path, "tenants"], message }];
    }
    return ofTenants(issuer, texts(tenants)).flatMap((address, j) => {
      const earlier = first.get(address);
      if (earlier === undefined) {
        first.set(address, i);
        return [];
      }
      const at = marked ? [...path, "tenants", j] : [...path, "issuer"];
      const other =
        earlier === i ? "one before it" : `that of ${formatPath(["auth", "oidc", earlier])}`;
      return [{ path: at, message: `is the same as ${other}; must be unique` }];
    });
  });
}
