import type { TeamPartOptions } from "./team/parts.ts";
import type { FormatRules } from "./well-formed.ts";

/** What the parts can be told by the YAML. */
export interface PartOptions {
  readonly format: FormatRules;
  /** Words of an n-gram. */
  readonly ngram: number;
  readonly freeSearches: number;
  /** Sampled tokens from which `length` is −1, and over how many it falls. */
  readonly maxTokens: number;
  readonly bufferTokens: number;
  readonly team: TeamPartOptions;
}
