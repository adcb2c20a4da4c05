import { type Loaded, load } from "./load.ts";
import { type Config, configSchema } from "./schema.ts";

/**
 * Loads and checks a config with every section.
 * @throws ConfigError
 */
export function loadConfig(path: string, overrides: readonly string[] = []): Loaded<Config> {
  return load(path, overrides, configSchema);
}
