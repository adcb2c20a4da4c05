import { z } from "zod";

/** Key under which a schema says that its string names a file or folder that is read. */
export const pathMark = "x-path";

/** Key under which a schema says that a YAML file may hold the value: a text in its place names the file. */
export const fileMark = "x-file";

/**
 * A config value that names a file or folder to read. The loader makes it absolute: relative to the YAML file that
 * states it, or to the working directory when it comes from an override. `forager:NAME` is a file shipped in configs/.
 */
export function filePath() {
  return z
    .string()
    .min(1)
    .meta({ [pathMark]: true });
}
