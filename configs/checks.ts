import type { Config } from "./schema.ts";

/** What must hold between sections, or between keys of different owners. */
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
      search.engine === "memory" && search.corpus === undefined && data.train.kind === "jsonl"
        ? "questions from a file need a corpus to search: name `search.corpus`, or an index with `engine: lancedb`"
        : undefined,
  },
  {
    path: ["rollout", "groupSize"],
    check: ({ rollout }) =>
      rollout.groupSize * 1 > rollout.maxRows
        ? `a group of ${rollout.groupSize} does not fit rollout.maxRows (${rollout.maxRows})`
        : undefined,
  },
  {
    path: ["env", "observationTokens"],
    check: ({ env, model }) => {
      const context = model.contextTokens ?? model.tiny?.contextTokens;
      return context !== undefined && env.observationTokens >= context
        ? `one observation (${env.observationTokens} tokens) fills the whole context (${context} tokens)`
        : undefined;
    },
  },
  {
    path: ["sft", "source"],
    check: ({ rl, sft }) =>
      rl.steps === 0 && sft.steps === 0 ? "nothing to train: sft.steps and rl.steps are both 0" : undefined,
  },
];
