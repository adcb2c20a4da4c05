import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { schemaText } from "../configs/schema-text.ts";
import { packageRoot } from "../core/package-root.ts";

/** Writes configs/schema.json (`npm run schema`); schema.test.ts fails when it is stale. */
writeFileSync(join(packageRoot(), "configs", "schema.json"), schemaText());
