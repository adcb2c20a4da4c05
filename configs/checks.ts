import { trainingOf } from "../rl/policy/config.ts";
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
    check: ({ search, data, env }) =>
      search.engine === "memory" &&
      search.corpus === undefined &&
      data.train.kind !== "world" &&
      env.name !== "agent"
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
    path: ["search", "retriever"],
    check: ({ search, env }) =>
      env.name === "agent" && (search.retriever !== "engine" || search.budget !== undefined)
        ? "an agent searches by itself: leave `search.retriever` and `search.budget` out"
        : undefined,
  },
  {
    path: ["env", "command"],
    check: ({ env }) => {
      const named = [env.command, env.agent].filter((each) => each !== undefined).length;
      if (env.name !== "agent")
        return named > 0 ? "only an agent has a command: add `name: agent`, or leave it out" : undefined;
      return named === 1
        ? undefined
        : "an agent is a `command`, or the name of one of your own: give one of the two";
    },
  },
  {
    path: ["env", "observationTokens"],
    check: ({ env, model }) => {
      const context = Math.min(
        model.contextTokens ?? Number.POSITIVE_INFINITY,
        model.tiny?.contextTokens ?? Number.POSITIVE_INFINITY,
      );
      return env.name !== "agent" && env.observationTokens >= context
        ? `one observation of ${env.observationTokens} tokens fills the whole context of ${context}`
        : undefined;
    },
  },
  {
    path: ["endpoint"],
    check: ({ endpoint, model }) =>
      endpoint && trainingOf(model) !== "lora"
        ? "what is published to servers is an adapter: give `model.path` and `training: lora`, or leave `endpoint` out"
        : undefined,
  },
  {
    path: ["endpoint", "driver"],
    check: ({ endpoint, rl }) =>
      endpoint?.driver === "llamacpp" && rl.steps > 0
        ? "llama.cpp loads adapters only when it starts, so it cannot follow a training run: set rl.steps to 0 to evaluate it"
        : undefined,
  },
  {
    path: ["rl", "maxStaleness"],
    check: ({ rl, endpoint }) =>
      rl.maxStaleness > 0 && !endpoint
        ? "the in-process policy samples and learns in turn: set it to 0, or name servers in `endpoint`"
        : undefined,
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
