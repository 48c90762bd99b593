/** What a gateway serves now, and how another configuration takes its place while calls run. */
import { isDeepStrictEqual } from "node:util";
import { adminSettings } from "./config/admin.js";
import { changeOf } from "./config/changes.js";
import { pastLimits } from "./config/limits.js";
import type { Config } from "./config/schema.js";
import { doorSettings, listenOptions } from "./config/settings.js";
import { GatewayAdministration } from "./core/admin/administration.js";
import type { AdminSettings } from "./core/admin/settings.js";
import { CurrentCore } from "./core/current.js";
import { LintelError, shuttingDown } from "./core/errors.js";
import type { DoorSettings } from "./doors/door.js";
import type { Listener } from "./server/listen.js";
import type { TlsSettings } from "./server/settings.js";
import { type Setup, setUp } from "./setup.js";
import type { Closable, Stores } from "./stores.js";
import type { Status } from "./telemetry/status.js";
import { statusMessage } from "./telemetry/status-message.js";

/** What a reload did. */
export interface Reloaded {
  /** Sections that apply now. */
  readonly changed: readonly string[];
  /** Sections that differ, and apply after a restart. */
  readonly restart: readonly string[];
  /** Names of backends. One whose entry changed is in both. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** How the last reload went. */
export interface LastReload {
  /** Whether the configuration was taken over. */
  readonly successful: boolean;
  /** How many of its sections differ and apply after a restart, as of the last that was. */
  readonly restart: number;
}

/** Before any reload. */
export const noReload: LastReload = { successful: true, restart: 0 };

/** The setup of the moment, and those before it that still answer calls. */
export class Reloading {
  /** Hands calls to the setup of the moment. */
  readonly core: CurrentCore;
  /** What the doors go by; changes with a reload, but for the largest body. */
  readonly doorSettings: DoorSettings;
  readonly #stores: Stores;
  readonly #live = new Set<Setup>();
  #setup: Setup;
  #tls: TlsSettings | undefined;
  #listeners: readonly Listener[] = [];
  #administration: GatewayAdministration | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Ends when no call runs any more that began before the last reload. */
  #former: Promise<unknown> = Promise.resolve();
  /** Setups that are being closed. */
  readonly #retiring = new Set<Promise<void>>();
  #stopped = false;

  /**
   * @param setup the first
   * @param stands how the gateway stands, for administrators; `undefined`: nobody tells
   * @param tls the certificate that is served with
   */
  constructor(
    setup: Setup,
    stores: Stores,
    stands: () => Promise<Status | undefined>,
    tls: TlsSettings | undefined,
  ) {
    this.#setup = setup;
    this.#stores = stores;
    this.#live.add(setup);
    this.#tls = tls;
    this.core = new CurrentCore(setup.core);
    this.doorSettings = { ...doorSettings(setup.config) };
    const settings = adminSettings(setup.config);
    this.#administration = settings && administrationOf(settings, stores, this.core, stands);
  }

  /** Administration, whose settings are those of the moment; absent: there is none. */
  get administration(): GatewayAdministration | undefined {
    return this.#administration;
  }

  /** The certificate that is served with; absent: cleartext. */
  get tls(): TlsSettings | undefined {
    return this.#tls;
  }

  /** The setup of the moment. */
  get setup(): Setup {
    return this.#setup;
  }

  /**
   * Begins to load models and to watch targets.
   * @param listeners get a certificate that was renewed
   */
  start(listeners: readonly Listener[]): void {
    this.#listeners = listeners;
    for (const part of this.#setup.made) part.start?.();
    this.core.routing.start();
  }

  /**
   * Takes over another configuration, after those that are being taken over.
   * @throws LintelError `shutting_down` once `stop` was called; Error if it can't be used: the one
   *   before stays as it was
   */
  reload(wanted: Config): Promise<Reloaded> {
    const reloaded = this.#turn.then(() => this.#apply(wanted));
    this.#turn = reloaded.catch(() => {});
    return reloaded;
  }

  /** Takes over nothing more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Closes every setup, after a reload that runs. No call may run any more. */
  async close(): Promise<void> {
    this.stop();
    await this.#turn;
    this.core.routing.close();
    // What one of them has left goes to the next, as alerts do.
    await Promise.allSettled(this.#retiring);
    for (const one of this.#live) await this.#retire(one);
  }

  async #apply(wanted: Config): Promise<Reloaded> {
    if (this.#stopped) throw shuttingDown();
    const before = this.#setup;
    const tokens = this.#stores.state.tokens !== undefined;
    const { config: next, changed, restart } = changeOf(before.config, wanted, tokens);
    const renewed = listenOptions(next)[0]?.tls;
    const after = await setUp(next, this.#stores, before);
    if (this.#stopped) {
      await Promise.all(after.made.map(async (part) => part.close()));
      throw shuttingDown();
    }
    this.#live.add(after);
    this.#setup = after;
    for (const part of after.made) part.start?.();
    if (after.alerts !== before.alerts) before.alerts?.handOver(after.alerts);
    const { log, counting } = this.#stores;
    const used = counting.change(pastLimits(next));
    const idle = this.core.replace(after.core);
    // Its value would hold those of all before.
    this.#former = Promise.allSettled([this.#former, idle]).then(() => undefined);
    void this.#former.then(used.ended);
    idle
      .then(this.#retire.bind(this, before))
      .catch((err) => log.error({ err }, "a part of the configuration before can't be closed"));
    const admin = adminSettings(next);
    if (admin) this.#administration?.change(admin);
    Object.assign(this.doorSettings, doorSettings(next));
    const certificate = renewed !== undefined && !isDeepStrictEqual(renewed, this.#tls);
    if (certificate) {
      for (const listener of this.#listeners) listener.renew(renewed);
      this.#tls = renewed;
    }
    await used.added;
    return {
      changed: [...changed, ...(certificate ? ["tls (certificate)"] : [])],
      restart,
      added: namesWithout(after, before),
      removed: namesWithout(before, after),
    };
  }

  /** Closes what only this setup has. */
  async #retire(old: Setup): Promise<void> {
    this.#live.delete(old);
    const used = new Set<Closable>([...this.#live].flatMap(({ parts }) => parts));
    const unused = old.parts.filter((part) => !used.has(part));
    const closing = Promise.all(unused.map(closePart)).then(() => {});
    this.#retiring.add(closing);
    await closing.finally(() => this.#retiring.delete(closing));
  }
}

/**
 * Closes one. Parts keep the errors that end their calls, and in V8 an error keeps the functions on the stack of where it
 * was made, each with the variables around it: where setups are among these, one that something still holds holds all
 * that came after it. So neither this nor its callers are closures over setups.
 */
async function closePart(part: Closable): Promise<void> {
  await part.close();
}

function administrationOf(
  settings: AdminSettings,
  { state, log }: Stores,
  { readiness }: CurrentCore,
  stands: () => Promise<Status | undefined>,
): GatewayAdministration {
  const status = async () => {
    const now = await stands();
    if (!now) throw new LintelError("unavailable", "no process of this gateway says how it stands");
    return statusMessage(now);
  };
  return new GatewayAdministration({ settings, state: state.admin, status, readiness, log });
}

/** Backends that one setup has and the other has not, or not the same. */
const namesWithout = (one: Setup, other: Setup) =>
  one.backends.filter((entry) => !other.backends.includes(entry)).map((entry) => entry.config.name);
