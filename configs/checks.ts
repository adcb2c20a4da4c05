import type { Config } from "./schema.ts";

/** What must hold between sections, each of which is right by itself. */
export interface CrossCheck {
  /** The key to point at. */
  readonly path: readonly string[];
  /** What is wrong, or undefined. */
  readonly check: (config: Config) => string | undefined;
}

export const crossChecks: readonly CrossCheck[] = [
  {
    path: ["search", "corpus"],
    check: ({ search, data }) =>
      search.engine === "memory" && search.corpus === undefined && data.train.kind !== "world"
        ? "questions of your own need something to search: name `search.corpus`, or an index with `engine: lancedb`"
        : undefined,
  },
  {
    path: ["search", "corpus"],
    check: ({ search, data }) =>
      search.engine === "memory" && search.corpus !== undefined && data.train.kind === "world"
        ? "the synthetic world brings its own pages: leave `search.corpus` out, or train on questions from a file"
        : undefined,
  },
  {
    path: ["env", "observationTokens"],
    check: ({ env, model }) => {
      const context = Math.min(
        model.contextTokens ?? Number.POSITIVE_INFINITY,
        model.tiny?.contextTokens ?? Number.POSITIVE_INFINITY,
      );
      return env.observationTokens >= context
        ? `one observation of ${env.observationTokens} tokens fills the whole context of ${context}`
        : undefined;
    },
  },
  {
    path: ["rollout", "prompt", "system"],
    check: ({ env, model, rollout: { prompt } }) => {
      if (model.path === undefined || prompt.format === "plain" || env.name !== "researcher")
        return undefined;
      const text = prompt.system + prompt.user;
      const missing = ["<search>", "<answer>"].filter((tag) => !text.includes(tag));
      return missing.length > 0
        ? `the prompt never mentions ${missing.join(" and ")}, without which every episode scores 0`
        : undefined;
    },
  },
];
