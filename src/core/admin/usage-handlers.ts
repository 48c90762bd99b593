/** What the method of administration does that tells what was used. */
import { create } from "@bufbuild/protobuf";
import { QueryUsageResponseSchema } from "../../../gen/lintel/admin/v1/usage_pb.js";
import { utc } from "../time-zone.js";
import { type Group, groups } from "../usage/sums.js";
import { pageToken, placeIn, timeOf } from "./fields.js";
import { rowMessage } from "./messages.js";
import { type Handlers, refuse } from "./work.js";

/** Rows of a page, where no number is asked for. */
const rowsOfPage = 1000;

const weekMs = 7 * 86_400_000;

/** By name of the method. @throws LintelError */
export const usageHandlers: Pick<Handlers, "queryUsage"> = {
  async queryUsage(request, { state, settings, found }) {
    const { requestId } = request;
    for (const [i, name] of request.groupBy.entries()) {
      const message = "is there twice";
      if (request.groupBy.indexOf(name) < i) found.push({ field: `group_by[${i}]`, message });
    }
    const week = requestId === "" ? Date.now() - weekMs : undefined;
    const since = timeOf(request.startTime, "start_time", found) ?? week;
    const until = timeOf(request.endTime, "end_time", found);
    if (since !== undefined && until !== undefined && until <= since) {
      const usual = request.startTime ? "" : ", which is seven days ago where it is not given";
      found.push({ field: "end_time", message: `must be after start_time${usual}` });
    }
    const [from = 0] = placeIn(request.pageToken, ["number"], found) ?? [];
    refuse(found);
    const by = request.groupBy.filter((name): name is Group => groups.includes(name as Group));
    const filter = {
      ...{ since, until },
      token: request.token || undefined,
      team: request.team || undefined,
      user: request.user || undefined,
      model: request.model || undefined,
      request: requestId || undefined,
    };
    const limit = request.pageSize || rowsOfPage;
    const page = { from: Number(from), limit: limit + 1 };
    const rows = await state.usage.totals(by, filter, page);
    return create(QueryUsageResponseSchema, {
      rows: rows.slice(0, limit).map(rowMessage),
      nextPageToken: rows.length > limit ? pageToken([page.from + limit]) : "",
      warnings: settings.keepsUsage ? [] : [noUsage],
      timeZone: settings.timeZone ?? utc.name,
    });
  },
};

/** What is said where sums end with the last record that was kept. */
const noUsage = "usage.enabled is false: no records of calls are kept";
