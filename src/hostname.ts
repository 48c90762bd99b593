/** A host as URLs have it, as what is asked of sockets: without the brackets around an address of IPv6. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");
