/** The engine's own telemetry. */

/**
 * Has ONNX Runtime report nothing. Since 1.29 it tells Microsoft about models, machines and
 * times on Linux and macOS, and keeps an id of the machine for that, unless the environment
 * of the process says otherwise when the engine is loaded. Threads have but a copy of that
 * environment: this is for the main thread, before it starts one. An operator who has set
 * the variable is listened to.
 *
 * Source: https://github.com/microsoft/onnxruntime/blob/main/docs/Privacy.md
 */
export function silenceEngine(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= "1";
}
