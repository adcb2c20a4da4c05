import { defaultAdapter, teamConfig } from "../env/team/config.ts";
import { weightsOf } from "../reward/config.ts";
import { trainingOf } from "../rl/policy/config.ts";
import { unknownName } from "../rl/team-config.ts";
import type { Config } from "./schema.ts";

/** What must hold between sections, each of which is right by itself. */
export interface CrossCheck {
  /** The key to point at. */
  readonly path: readonly string[];
  /** What is wrong, or undefined. */
  readonly check: (config: Config) => string | undefined;
}

/** The synthetic world and the families of generated tasks are searched in their own pages. */
const bringsPages = (kind: Config["data"]["train"]["kind"]) => kind === "world" || kind === "family";

export const crossChecks: readonly CrossCheck[] = [
  {
    path: ["search", "corpus"],
    check: ({ search, data, env }) =>
      search.engine === "memory" &&
      search.corpus === undefined &&
      !bringsPages(data.train.kind) &&
      env.name !== "agent"
        ? "questions of your own need something to search: name `search.corpus`, or an index with `engine: lancedb`"
        : undefined,
  },
  {
    path: ["search", "corpus"],
    check: ({ search, data }) =>
      search.engine === "memory" && search.corpus !== undefined && bringsPages(data.train.kind)
        ? "the synthetic world brings its own pages, and so do generated tasks: leave `search.corpus` out, or train on questions from a file"
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
    path: ["rl", "maxStaleness"],
    check: ({ rl, env }) =>
      rl.maxStaleness > 2 && (rl.preset === "o-researcher" || env.name === "team")
        ? "a team learns from episodes of its last two updates alone: set it to 2 or less"
        : undefined,
  },
  {
    path: ["rl", "overlong"],
    check: ({ rl, reward }) => {
      const { length = 0 } = weightsOf(reward);
      const weighed = typeof length === "number" ? length !== 0 : length.from !== 0 || length.to !== 0;
      return rl.overlong === "penalty" && weighed
        ? "long episodes would be punished twice, by this penalty and by the weight of the part `length`: set rl.overlong to score, or take `length` out of reward.weights"
        : undefined;
    },
  },
  {
    path: ["rl", "turnCredit"],
    check: ({ rl, env }) =>
      rl.turnCredit > 0 && env.name === "agent"
        ? "an agent's searches are its own and not recorded, so its turns cannot be credited: set it to 0"
        : undefined,
  },
  {
    path: ["reward"],
    check: ({ env, reward: { hacks, audit, team } }) => {
      const named = [hacks && "hacks", audit && "audit", team.lengthEntropy > 0 && "team.lengthEntropy"];
      const asked = named.filter(Boolean);
      return asked.length > 0 && (env.name === "researcher" || env.name === "agent")
        ? `${asked.join(", ")} look into a team's account, which ${env.name} has none of: set env.name to team, or leave them out`
        : undefined;
    },
  },
  {
    path: ["rl", "team"],
    check: ({ rl: { team }, env }) => {
      if (!team) return undefined;
      if (env.name === "researcher" || env.name === "agent")
        return `it is of roles that learn together, and ${env.name} plays alone: set env.name to team, or leave it out`;
      if (env.name !== "team")
        return team.stages.length > 0
          ? "stages are of the adapters of a team: leave `stages` out"
          : undefined;
      const roles = Object.entries((env.team ?? teamConfig.parse({})).roles).filter(([, { on }]) => on);
      const own = roles.filter(([, { player }]) => player.kind === "policy");
      return unknownName(team, {
        seats: own.map(([name]) => name),
        adapters: [...new Set(own.map(([, { adapter }]) => adapter))],
      });
    },
  },
  {
    path: ["env", "team", "roles"],
    check: ({ env }) => {
      const idle = Object.entries(env.team?.roles ?? {}).find(
        ([, { on, player, adapter }]) => (!on || player.kind !== "policy") && adapter !== defaultAdapter,
      );
      return idle
        ? `the policy does not play the ${idle[0]}, so its adapter \`${idle[1].adapter}\` would never be used: leave \`adapter\` out there`
        : undefined;
    },
  },
  {
    path: ["sft"],
    check: ({ sft, env }) =>
      env.name !== "team" && [sft, ...sft.more].some(({ learn }) => learn !== undefined)
        ? "`learn` names roles of a team: set env.name to team, or leave it out"
        : undefined,
  },
  {
    path: ["rl", "interventions", "processWeight"],
    check: ({ rl, reward, eval: { benchmarks } }) => {
      const rule = rl.interventions.processWeight;
      if (!rule) return undefined;
      if (benchmarks.length === 0)
        return "it compares the reward with held-out exact match: name a benchmark in eval.benchmarks, or leave the rule out";
      const weights = Object.keys(weightsOf(reward));
      return rule.act.weightFactor < 1 && !rule.act.parts.some((part) => weights.includes(part))
        ? `no part of the reward is ${rule.act.parts.join(" or ")}: name some of ${weights.join(", ")} in act.parts, or set act.weightFactor to 1 to change the questions alone`
        : undefined;
    },
  },
  {
    path: ["rl", "interventions", "freezeRoles"],
    check: ({ rl, env }) =>
      rl.interventions.freezeRoles && env.name === "researcher"
        ? "a researcher is alone: roles can become alike only in an environment of several"
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
