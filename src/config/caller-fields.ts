/** Fields that entries of callers have, whoever lets them in. */
import * as z from "zod";
import { isNetwork, mostNetworks, networkMessage } from "../core/callers/addresses.js";
import { modelPattern, name } from "./fields.js";

/** Names of models, or patterns. @param what they are */
export const models = (what = "Models that it may use") =>
  z
    .array(modelPattern)
    .min(1)
    .optional()
    .describe(`${what}; one * in a name stands for anything. Default: all.`);

/** The name of a team. @param whose it is */
export const memberOf = (whose: string) =>
  name
    .optional()
    .describe(
      `Team of ${whose}: what its members do counts together, by auth.teams and limits.team.`,
    );

/** Addresses. @param what is done from there, and by whom */
export const fromSchema = (what: string, otherwise = "everywhere") =>
  z
    .array(z.string().refine(isNetwork, { error: networkMessage }))
    .min(1)
    .max(mostNetworks)
    .optional()
    .describe(
      `Addresses and networks that ${what}, such as 10.0.0.0/8; behind a proxy trust_proxy has to name that. Default: ${otherwise}.`,
    );
