/** `lintel account`: as whom a Lintel knows the caller, and what is left of its limits. */
import { AccountService, type GetAccountResponse } from "../../gen/lintel/v1/account_pb.js";
import { accountObject } from "../doors/rest/account.js";
import { serverOptions, withServer } from "./client.js";
import type { Command } from "./command.js";
import { out, printable } from "./output.js";
import { table } from "./table.js";

const { server, token } = serverOptions;

export const account: Command = {
  summary:
    "tells as whom a Lintel knows you, which models you may use, and what is left of your limits",
  details: `What is not listed is not limited. Spend is in the unit of the operator's price table. What is left
may not be known: the store of the limits is away, or what was used before a start is still being read.`,
  options: {
    server,
    token,
    user: { value: "ID", help: "one of your end users, as your calls name them: its limits, too" },
    json: { help: "for programs: JSON, as GET /account answers it" },
  },
  run: (given) =>
    withServer(given, AccountService, async (client, options) => {
      const account = await client.getAccount({ user: given.text("user") ?? "" }, options);
      out(
        given.has("json")
          ? JSON.stringify(accountObject(account), undefined, 2)
          : forPeople(account),
      );
      return 0;
    }),
};

type Told = ReturnType<typeof accountObject>;

function forPeople(account: GetAccountResponse): string {
  const { caller, token, team, expires_at, models, team_models, limits } = accountObject(account);
  const rows = [
    ["caller", caller],
    ["token", token],
    ["team", team],
    ["expires", expires_at ?? ""],
    ["models", namesIn(models)],
    ["team's models", namesIn(team_models)],
  ].filter(([, value]) => value !== "");
  const width = Math.max(...rows.map(([name = ""]) => name.length));
  const about = rows.map(
    ([name = "", value = ""]) => `${name.padEnd(width)}   ${printable(value)}`,
  );
  return `${about.join("\n")}\n\n${limits.length > 0 ? limitTable(limits) : "nothing is limited"}`;
}

/** Names of models, or of all. */
const namesIn = (models: readonly string[]): string =>
  models.includes("*") ? "all" : models.join(", ");

function limitTable(limits: Told["limits"]): string {
  const heading = ["LIMIT", "OF", "LEFT", "ALLOWED", "IN", "RESETS IN"];
  const rows = limits.map((of) => [
    of.quantity,
    of.name === "" ? of.scope : `${of.scope} ${of.name}`,
    amountWords(of.remaining),
    amountWords(of.limit),
    windowWords[of.window] ?? of.window,
    of.reset_seconds === undefined
      ? (neverAgain[of.window] ?? "")
      : durationWords(of.reset_seconds),
  ]);
  const lines = table(heading, rows);
  const isKnown = limits.every(({ remaining }) => remaining !== undefined);
  return isKnown ? lines : `${lines}\n\nwhere nothing stands under LEFT it is not known now`;
}

const windowWords: Readonly<Record<string, string>> = {
  running: "at a time",
  minute: "60 s",
};

/** Of which window what is used comes back at no time. */
const neverAgain: Readonly<Record<string, string>> = { lifetime: "never" };

const amountWords = (amount: number | undefined): string =>
  amount === undefined ? "" : amount.toLocaleString("en", { maximumFractionDigits: 9 });

/** The two largest units: `3d 4h`, `1m 5s`. */
function durationWords(seconds: number): string {
  const units = [
    ["d", 86_400],
    ["h", 3600],
    ["m", 60],
    ["s", 1],
  ] as const;
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0s";
  let left = seconds;
  const parts = units.slice(first, first + 2).map(([letter, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count > 0 ? [`${count}${letter}`] : [];
  });
  return parts.flat().join(" ");
}
