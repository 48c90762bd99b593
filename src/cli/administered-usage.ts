/** The usage that `lintel usage` tells: that of a database, or of a gateway. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, Client } from "@connectrpc/connect";
import { UsageService } from "../../gen/lintel/admin/v1/usage_pb.js";
import { totalsOf } from "../core/admin/messages.js";
import { TimeZone, utc } from "../core/time-zone.js";
import type { UsageSums } from "../core/usage/sums.js";
import { DatabaseUsage } from "../state/database/usage.js";
import { everyPage, isRemote, onServer } from "./administered.js";
import { type Given, UsageError } from "./command.js";
import { type OpenDatabase, withDatabase } from "./database.js";
import { say } from "./output.js";

/**
 * Works on the usage of a database, or of the gateway that `--server` names.
 * @param before runs first, where it is that of a database
 * @param work gets what finds out the zone by whose clocks times are told; of a database alone that is UTC
 */
export async function withUsage(
  given: Given,
  before: (database: OpenDatabase) => Promise<void>,
  work: (usage: UsageSums, zone: () => Promise<TimeZone>) => Promise<number>,
): Promise<number> {
  if (!isRemote(given)) {
    return withDatabase(given, { before }, ({ sql, config }) => {
      const zone = config ? new TimeZone(config.time_zone) : utc;
      return work(new DatabaseUsage(sql, zone), async () => zone);
    });
  }
  return onServer(given, UsageService, (client, options) =>
    work(asking(client, options), () => zoneOf(client, options)),
  );
}

/**
 * A gateway's zone, which it tells with sums: those of a moment in which nothing was.
 * @throws UsageError where only its Node knows such a zone
 */
async function zoneOf(
  client: Client<typeof UsageService>,
  options: CallOptions,
): Promise<TimeZone> {
  const asked = { startTime: timestampFromMs(0), endTime: timestampFromMs(1), pageSize: 1 };
  const { timeZone } = await client.queryUsage(asked, options);
  // A gateway of an earlier version tells none.
  if (timeZone === "") return utc;
  try {
    return new TimeZone(timeZone);
  } catch {
    throw new UsageError(
      `the gateway's time zone ${JSON.stringify(timeZone)} is not known here: say times, such as 2027-01-31T00:00:00+01:00`,
    );
  }
}

/** Most rows of one answer. */
const rowsAtOnce = 10_000;

const asking = (client: Client<typeof UsageService>, options: CallOptions): UsageSums => ({
  async totals(by, { since = 0, until, request, ...filter } = {}) {
    const asked = {
      ...filter,
      groupBy: [...by],
      // No record is older, and no other time can be asked for.
      startTime: timestampFromMs(Math.max(since, 0)),
      endTime: until === undefined ? undefined : timestampFromMs(until),
      requestId: request,
      pageSize: rowsAtOnce,
    };
    const pages = await everyPage((pageToken) =>
      client.queryUsage({ ...asked, pageToken }, options),
    );
    for (const warning of pages[0]?.warnings ?? []) say(`warning: ${warning}`);
    return pages.flatMap(({ rows }) => rows.map(totalsOf));
  },
});
