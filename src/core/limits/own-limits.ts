/** What a caller or a team has of its own, in place of what all have. */
import type { CallerLimits, LimitSettings, ModelLimits } from "./settings.js";

/** Limits of some models. */
export interface OfModels {
  /** Name, or pattern with one `*`. */
  readonly model: string;
  readonly limits: CallerLimits;
}

/** Those of all, but for those that are someone's own. */
export function merged(everyone: CallerLimits = {}, own: CallerLimits = {}): CallerLimits {
  const said = Object.entries(own).filter(([, value]) => value !== undefined);
  return { ...everyone, ...Object.fromEntries(said) };
}

/** What a team may ask of some models: as each team may, where its own entry of the same name says nothing else. */
export function modelsOfTeam({ models, teams = [] }: LimitSettings, name: string): OfModels[] {
  const own = (teams.find(({ team }) => team === name)?.models ?? []).map(withoutName);
  const each = models.flatMap(({ model, team }) => (team ? { model, limits: team } : []));
  const further = own.filter(({ model }) => !each.some((one) => one.model === model));
  return [
    ...each.map(({ model, limits }) => {
      return { model, limits: merged(limits, own.find((one) => one.model === model)?.limits) };
    }),
    ...further,
  ];
}

const withoutName = ({ model, ...limits }: Omit<ModelLimits, "caller" | "team">): OfModels => ({
  model,
  limits,
});
