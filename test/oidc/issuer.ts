/** A real issuer on loopback: a discovery document, keys that can be rotated, signed tokens. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

export class Issuer {
  /** Status of every answer; 200 is as it should be. */
  status = 200;
  /** How often the keys were asked for. */
  asked = 0;
  /** Path at which they were asked for last. */
  askedAt: string | undefined;
  /** What the discovery document says the issuer is; absent: the truth. */
  claimed: string | undefined;
  /** Whether the discovery document says where the keys are. */
  tellsKeys = true;
  /** Tenants with a discovery document of their own beside `realm`. */
  tenants: readonly string[] = [];
  /** Path of a document that a redirect leads to; absent: none. */
  moved: string | undefined;
  /** Token that it wants for its documents; absent: anybody gets them. */
  wants: string | undefined;
  /** White space before each document, bytes. */
  blanks = 0;
  /** Further fields of its discovery document. */
  described: object = {};
  /** Answers its requests in its place, where that returns true. */
  instead: ((...request: Parameters<RequestListener>) => boolean) | undefined;
  /** Public keys besides those that sign, before them. */
  readonly others: JWK[] = [];
  url = "";
  #keys: { kid: string; pair: Pair; public: JWK; alg: string }[] = [];
  #server: Server | undefined;
  #port = 0;

  async start(): Promise<void> {
    if (this.#keys.length === 0) await this.rotate();
    this.#server = createServer((request, response) => {
      if (this.#held) return this.#held();
      if (this.instead?.(request, response)) return;
      response.setHeader("content-type", "application/json");
      response.statusCode = this.status;
      const path = request.url?.replace(/^\/moved/, "");
      const [, tenant = ""] =
        /^\/(\w+)\/\.well-known\/openid-configuration$/.exec(path ?? "") ?? [];
      if (this.wants && request.headers.authorization !== `Bearer ${this.wants}`) {
        response.writeHead(403).end();
        return;
      }
      if (request.url === this.moved) {
        response.writeHead(302, { location: `/moved${path}` }).end();
      } else if (["realm", ...this.tenants].includes(tenant)) {
        const keys = this.tellsKeys ? { jwks_uri: `${this.url}/keys` } : {};
        const issuer = this.claimed ?? (tenant === "realm" ? this.url : this.of(tenant));
        response.end(this.#document({ issuer, ...keys, ...this.described }));
      } else {
        this.asked++;
        this.askedAt = path;
        const keys = [...this.others, ...this.#keys.map((key) => key.public)];
        response.end(this.#document({ keys }));
      }
    });
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    this.url = this.of("realm");
  }

  /** The issuer of a tenant. */
  readonly of = (tenant: string): string => `http://127.0.0.1:${this.#port}/${tenant}`;

  #held: (() => void) | undefined;

  /** It answers nothing from now on. Resolves with the first request that it does not. */
  held(): Promise<void> {
    return new Promise((resolve) => {
      this.#held = resolve;
    });
  }

  #document(value: unknown): string {
    return " ".repeat(this.blanks) + JSON.stringify(value);
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (!server?.listening) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  /** A new key, from now on the one that signs; `forget` drops the others. */
  async rotate(alg = "ES256", forget = false): Promise<void> {
    const pair = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${this.#keys.length}-${alg}`;
    const key = { kid, pair, alg, public: { ...(await exportJWK(pair.publicKey)), kid, alg } };
    this.#keys = forget ? [key] : [...this.#keys, key];
  }

  /** A token that is signed with the newest key, but for what is said otherwise; `kid: null` leaves it out. */
  sign(
    claims: Readonly<Record<string, unknown>> = {},
    { kid, key }: { kid?: string | null; key?: Pair } = {},
  ): Promise<string> {
    const newest = this.#keys.at(-1);
    if (!newest) throw new Error("the issuer has no key yet");
    const now = Math.floor(Date.now() / 1000);
    const payload = {
      iss: this.url,
      aud: "lintel",
      sub: "alice",
      iat: now,
      exp: now + 600,
      ...claims,
    };
    return new SignJWT(JSON.parse(JSON.stringify(payload)))
      .setProtectedHeader({ alg: newest.alg, ...(kid !== null && { kid: kid ?? newest.kid }) })
      .sign((key ?? newest.pair).privateKey);
  }
}
