import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ConfigError } from "../core/errors.ts";

/**
 * A folder that will be written, checked before the work and without making it, so that an hour is not lost to a path.
 * @throws ConfigError for a file in the way; the system's error for a place that cannot be written
 */
export function checkOutFolder(folder: string): void {
  let there = resolve(folder);
  while (!existsSync(there)) there = dirname(there);
  if (!statSync(there).isDirectory())
    throw new ConfigError({
      what: "a file is where a folder should be",
      where: there,
      next: "Name another with --out.",
    });
  accessSync(there, constants.W_OK);
}

/** A file that will be written. @throws as above, and ConfigError when it exists */
export function checkOutFile(file: string): void {
  if (existsSync(file))
    throw new ConfigError({
      what: "the output file exists already",
      where: file,
      next: "Choose another name: nothing is ever overwritten.",
    });
  checkOutFolder(dirname(resolve(file)));
}
