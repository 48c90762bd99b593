/** What the core needs of a logger; pino has this shape. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A logger that says nothing. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
