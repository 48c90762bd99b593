/** Issuers that have an address for each of their tenants, as Microsoft's Entra has. */

/** What stands for a tenant's id in an address, as Entra's discovery document for all tenants has it. */
export const tenantMark = "{tenantid}";

/** An address with each tenant in it; as it is, where none stands there. */
export const ofTenants = (address: string, tenants: readonly string[] = []): string[] =>
  address.includes(tenantMark)
    ? tenants.map((id) => address.replaceAll(tenantMark, id))
    : [address];
