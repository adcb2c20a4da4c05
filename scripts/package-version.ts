import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../core/package-root.ts";

/** Forager's own version, "0.1.0". */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as {
    version: string;
  };
  return version;
}
