/** Mirrors that are no other model than what they mirror, or one that does something else. */
import type { Finding, Path } from "./problems.js";
import { type Fields, list, texts } from "./raw.js";

type Task = "chat" | "image";

/**
 * @param models entries of the configuration as they stand in the file
 * @param backends likewise
 */
export function checkMirrors(models: readonly Fields[], backends: readonly Fields[]): Finding[] {
  return models.flatMap((entry, i) => {
    const targets = targetsOf(entry);
    const does = targets.map((target) => taskOf(target, backends)).find((task) => task);
    const first = new Map<string, number>();
    return list(entry.mirrors).flatMap((mirror, j): Finding[] => {
      const path: Path = ["models", i, "mirrors", j];
      const place = { backend: mirror.backend, model: mirror.model ?? own(entry) };
      const key = keyOf(place);
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, j);
      else return [{ path, message: `is the same as mirrors[${earlier}]; must be unique` }];
      const at = targets.findIndex((target) => keyOf(target) === key);
      if (at >= 0) {
        const where = entry.targets === undefined ? "backends" : "targets";
        const message = `is the same as ${where}[${at}]; must be another backend or model`;
        return [{ path, message }];
      }
      if (isEverywhere(entry) && place.model === own(entry)) {
        const message =
          "is one of those that the calls go to, which are all backends; say in backends, or targets, which ones they go to";
        return [{ path, message }];
      }
      const task = taskOf(place, backends);
      if (!task || !does || task === does) return [];
      const message = `${words[task]}, and "${entry.name}" ${words[does]}; must be a model of the same kind`;
      return [{ path, message }];
    });
  });
}

const words: Readonly<Record<Task, string>> = { chat: "chats", image: "makes images" };

interface Place {
  readonly backend: unknown;
  readonly model: unknown;
}

const keyOf = ({ backend, model }: Place) => JSON.stringify([backend, model]);

/** Name by which an entry's backends know its model, where they say no other. */
const own = ({ name, model = name }: Fields): unknown => model;

const isEverywhere = ({ targets, backends }: Fields) =>
  targets === undefined && backends === undefined;

function targetsOf(entry: Fields): Place[] {
  if (entry.targets === undefined) {
    return texts(entry.backends).map((backend) => ({ backend, model: own(entry) }));
  }
  return list(entry.targets).map(({ backend, model = entry.name }) => ({ backend, model }));
}

/** What a model does, as far as the file says; `undefined`: only its server knows. */
function taskOf({ backend, model }: Place, backends: readonly Fields[]): Task | undefined {
  const entry = backends.find(({ name }) => name === backend);
  switch (entry?.type) {
    case "llama":
      return "chat";
    case "onnx":
    case "sdapi":
    case "comfyui":
      return "image";
    case "openai":
      // Else their names tell.
      if (entry.image_models === undefined) return undefined;
      return texts(entry.image_models).includes(String(model)) ? "image" : "chat";
    case "node":
    case "rest":
    case "ai-sdk": {
      const said = list(entry.models).find(({ id }) => id === model);
      const task = said && (said.task ?? "chat");
      return task === "chat" || task === "image" ? task : undefined;
    }
    default:
      return undefined;
  }
}
