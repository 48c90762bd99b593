/** An issuer's description of itself, from under its address. */
import { readFile } from "node:fs/promises";
import { environmentProxies, type Proxies } from "../backends/http/proxy.js";
import { readJson } from "./read-json.js";
import type { IssuerSettings } from "./settings.js";
import { tenantMark } from "./tenants.js";

/** What stands in it. */
export type Described = Readonly<Record<string, unknown>>;

/**
 * Reads the discovery document of an issuer.
 * @param token is asked with; absent: none
 * @throws Error if it can't be read, or is another's
 */
export async function readDiscovery(
  issuer: string,
  proxies: Proxies,
  token: string | undefined,
): Promise<Described> {
  const path = ".well-known/openid-configuration";
  const url = `${issuer.replace(/\/$/, "")}/${path}`;
  const document = (await readJson(url, proxies, token)) as Described;
  if (document.issuer !== issuer) {
    const said = String(document.issuer);
    const why = said.includes(tenantMark) ? `: set that, and tenants` : "";
    throw new Error(`its discovery document is of the issuer ${said}${why}`);
  }
  return document;
}

/**
 * What an issuer is asked with: the file holds another one now and then.
 * @param file absent: it is asked with none
 */
export async function bearerIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const token = (await readFile(file, "utf8")).trim();
  // What can't stand in a header an error would have in its words.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error(`${file} holds no token`);
  return token;
}

/** How soon it is asked again while it does not answer, milliseconds. */
const pauseMs = 1000;

/** The description of one issuer, read when it is wanted and kept for as long as its keys are. */
export class Discovery {
  readonly #issuer: IssuerSettings;
  readonly #proxies: Proxies;
  #known: Promise<Described> | undefined;
  #until = 0;

  /** @param proxies default: the environment's */
  constructor(issuer: IssuerSettings, proxies = environmentProxies()) {
    this.#issuer = issuer;
    this.#proxies = proxies;
  }

  /** @throws Error if it can't be read; all who ask within a second get the same */
  read(): Promise<Described> {
    if (this.#known && performance.now() < this.#until) return this.#known;
    const { issuer, tokenFile, refreshMs } = this.#issuer;
    const reading = bearerIn(tokenFile).then((token) =>
      readDiscovery(issuer, this.#proxies, token),
    );
    this.#known = reading;
    // As long as it takes.
    this.#until = Number.POSITIVE_INFINITY;
    reading.then(
      () => {
        this.#until = performance.now() + refreshMs;
      },
      () => {
        this.#until = performance.now() + Math.min(pauseMs, refreshMs);
      },
    );
    return reading;
  }
}
