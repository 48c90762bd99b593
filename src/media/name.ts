/** Names of stored images. */
import { randomBytes } from "node:crypto";

/** Media type of every stored image. */
export const storedType = "image/png";

const pattern = /^[0-9a-f]{32}\.png$/;

/** A name that nobody guesses: 128 random bits. */
export const newName = (): string => `${randomBytes(16).toString("hex")}.png`;

/** Whether a store may have made this name. */
export const isName = (name: string): boolean => pattern.test(name);
