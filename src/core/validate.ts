/** Is the request one that the contract allows? Asked once, for every door. */
import type { Call, Middleware } from "./call.js";
import { invalidFields, type Violation } from "./errors.js";
import { parseLoras } from "./loras.js";
import type { MethodName } from "./methods.js";
import { methods } from "./methods.js";
import { type Check, compileRules } from "./rules.js";
import type { CoreSettings } from "./settings.js";

/**
 * Throws what the door found wrong while decoding together with what the rules
 * find, so that the caller hears of all fields at once.
 */
export function validate(settings: CoreSettings): Middleware {
  // What bounds LoRAs is their number, which only reading the field tells.
  const { loras, ...bounds } = settings.bounds;
  const checks = Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [name, compileRules(method.input, bounds)]),
  ) as Record<MethodName, Check>;
  const mostLoras = loras?.max ?? 4;
  return (next) => (call) => {
    const { defect } = call;
    if (defect && defect.violations.length === 0) throw defect;
    const violations: Violation[] = [...(defect?.violations ?? [])];
    const undecoded = new Set(violations.map((v) => v.field));
    const found: Violation[] = [];
    checks[call.method](call.request, "", found);
    // A field that could not be decoded looks missing to the rules.
    for (const v of found) if (!isWithin(v.field, undecoded)) violations.push(v);
    if (violations.length > 0) throw invalidFields(violations);
    return next(isImage(call) ? withLoras(call, mostLoras) : call);
  };
}

type ImageCall = Call<"textToImage" | "streamTextToImage"> & Call;

const isImage = (call: Call): call is ImageCall =>
  call.method === "textToImage" || call.method === "streamTextToImage";

/** The call, whose `loras` is empty if it names none: an empty object asks for nothing. */
function withLoras(call: ImageCall, most: number): Call {
  const { request } = call;
  if (parseLoras(request.loras, most).size > 0 || request.loras === "") return call;
  return { ...call, request: { ...request, loras: "" } };
}

/** Whether a field, or what contains it, or a part of it, is among `fields`, of which an error has few. */
function isWithin(field: string, fields: ReadonlySet<string>): boolean {
  for (const other of fields) {
    if (field === other || field.startsWith(`${other}.`) || field.startsWith(`${other}[`))
      return true;
    if (other.startsWith(`${field}[`) || other.startsWith(`${field}.`)) return true;
  }
  return false;
}
