import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../core/package-root.ts";
import { biomeConfig } from "./import-table.ts";

/** Writes biome.json from the import table; house.test.ts fails when it is stale. */
const path = join(packageRoot(), "biome.json");
writeFileSync(path, JSON.stringify(biomeConfig(), null, 2));
execFileSync("npx", ["biome", "format", "--write", path], { cwd: packageRoot(), stdio: "inherit" });
