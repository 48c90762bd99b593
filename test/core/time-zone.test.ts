/** The calendar of a time zone: days that are shorter or longer, and midnights that are not there or come twice. */
import { describe, expect, it } from "vitest";
import { type Period, periodAt } from "../../src/core/limits/period.js";
import { TimeZone } from "../../src/core/time-zone.js";

const at = (text: string) => Date.parse(text);
const written = ({ start, end }: Period) =>
  [start, end].map((ms) => `${new Date(ms).toISOString().slice(0, 16)}Z`);

describe("periods by the clocks of a zone", () => {
  it.each([
    // Clocks are set forward at 2:00, and back at 3:00.
    ["Europe/Berlin", "day", "2026-03-29T12:00Z", ["2026-03-28T23:00Z", "2026-03-29T22:00Z"]],
    ["Europe/Berlin", "day", "2026-10-25T12:00Z", ["2026-10-24T22:00Z", "2026-10-25T23:00Z"]],
    ["Europe/Berlin", "day", "2026-10-25T22:59Z", ["2026-10-24T22:00Z", "2026-10-25T23:00Z"]],
    ["Europe/Berlin", "day", "2026-10-25T23:00Z", ["2026-10-25T23:00Z", "2026-10-26T23:00Z"]],
    ["Europe/Berlin", "week", "2026-10-25T22:59Z", ["2026-10-18T22:00Z", "2026-10-25T23:00Z"]],
    ["Europe/Berlin", "month", "2026-10-31T23:00Z", ["2026-10-31T23:00Z", "2026-11-30T23:00Z"]],
    ["Europe/Berlin", "month", "2026-10-31T22:59Z", ["2026-09-30T22:00Z", "2026-10-31T23:00Z"]],
    // There are two hours from 2:00 to 3:00.
    ["Europe/Berlin", "hour", "2026-10-25T00:30Z", ["2026-10-25T00:00Z", "2026-10-25T01:00Z"]],
    ["Europe/Berlin", "hour", "2026-10-25T01:30Z", ["2026-10-25T01:00Z", "2026-10-25T02:00Z"]],
    ["America/New_York", "month", "2026-11-30T12:00Z", ["2026-11-01T04:00Z", "2026-12-01T05:00Z"]],
    ["America/New_York", "day", "2027-01-01T04:59Z", ["2026-12-31T05:00Z", "2027-01-01T05:00Z"]],
    ["Asia/Kolkata", "day", "2026-07-01T12:00Z", ["2026-06-30T18:30Z", "2026-07-01T18:30Z"]],
    ["Asia/Kolkata", "hour", "2026-07-01T12:10Z", ["2026-07-01T11:30Z", "2026-07-01T12:30Z"]],
    ["Pacific/Auckland", "week", "2026-07-05T13:00Z", ["2026-07-05T12:00Z", "2026-07-12T12:00Z"]],
    // Clocks went from 24:00 to 1:00, so that the day began with that hour.
    ["America/Sao_Paulo", "day", "2017-10-15T12:00Z", ["2017-10-15T03:00Z", "2017-10-16T02:00Z"]],
    // And back from 24:00 to 23:00.
    ["America/Sao_Paulo", "day", "2018-02-18T02:30Z", ["2018-02-17T02:00Z", "2018-02-18T03:00Z"]],
    // Back from 1:00 to midnight, which came twice.
    ["America/Havana", "day", "2026-11-01T04:30Z", ["2026-11-01T04:00Z", "2026-11-02T05:00Z"]],
    ["America/Havana", "day", "2026-11-01T05:30Z", ["2026-11-01T04:00Z", "2026-11-02T05:00Z"]],
    // Back from 0:01 to 23:01 of the day before, whose next had begun.
    ["America/St_Johns", "day", "2010-11-07T02:30:30Z", ["2010-11-07T02:30Z", "2010-11-08T03:30Z"]],
    ["America/St_Johns", "day", "2010-11-07T02:45Z", ["2010-11-07T02:30Z", "2010-11-08T03:30Z"]],
    // A day that clocks leapt over.
    ["Pacific/Apia", "day", "2011-12-30T10:30Z", ["2011-12-30T10:00Z", "2011-12-31T10:00Z"]],
    ["Africa/Casablanca", "day", "2026-02-20T12:00Z", ["2026-02-20T00:00Z", "2026-02-21T00:00Z"]],
    ["Africa/Casablanca", "day", "2026-04-20T12:00Z", ["2026-04-19T23:00Z", "2026-04-20T23:00Z"]],
    ["UTC", "lifetime", "2026-04-20T12:00Z", undefined],
  ] as const)("%s: the %s of %s", (name, kind, time, period) => {
    const found = periodAt(kind, at(time), new TimeZone(name));
    if (period) expect(written(found)).toEqual(period);
    else expect(found).toEqual({ start: 0, end: Number.POSITIVE_INFINITY });
  });

  it.each(["Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo"])(
    "follow one another in %s",
    (name) => {
      const zone = new TimeZone(name);
      for (const kind of ["day", "week", "month"] as const) {
        let period = periodAt(kind, at("2025-06-01T00:00Z"), zone);
        while (period.end < at("2029-01-01T00:00Z")) {
          const next = periodAt(kind, period.end, zone);
          expect(written(next)[0]).toBe(written(period)[1]);
          expect(periodAt(kind, period.end - 1, zone)).toEqual(period);
          period = next;
        }
      }
    },
  );

  it("is called as IANA writes it, in whatever letters", () => {
    expect(new TimeZone("europe/berlin").name).toBe("Europe/Berlin");
    expect(new TimeZone("Etc/UTC").isUtc).toBe(true);
    expect(() => new TimeZone("Europe/Atlantis")).toThrow(RangeError);
  });
});
