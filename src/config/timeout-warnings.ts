/** Times of models that are longer than their backends allow. */
import type { Config } from "./schema.js";

/** What a backend calls the same time. */
const own = { connect: "connect", first_token: "first_token", between_tokens: "idle" } as const;

type Times = Readonly<Record<string, number | undefined>>;

/** A line for each; of models that name no backends only where there is but one. */
export function timeoutWarnings({ models, backends = [] }: Config): string[] {
  return models.flatMap(({ name, timeouts, targets, backends: named }) => {
    const names = targets?.map(({ backend }) => backend) ?? named;
    const serving = names ? backends.filter((one) => names.includes(one.name)) : backends;
    if (!timeouts || (!names && serving.length > 1)) return [];
    return serving.flatMap((backend) => {
      const times: Times = "timeouts" in backend ? (backend.timeouts as Times) : {};
      return Object.entries(own).flatMap(([field, key]) => {
        const [wanted = 0, most = 0] = [(timeouts as Times)[field], times[key]];
        // 0 is any time.
        if (most === 0 || wanted <= most) return [];
        return `timeouts.${field} of model "${name}" is longer than timeouts.${key} of backend "${backend.name}", which counts`;
      });
    });
  });
}
