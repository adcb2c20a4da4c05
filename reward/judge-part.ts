import { RewardError } from "../core/errors.ts";
import type { TokenUsage, Trajectory } from "../rollout/trajectory.ts";
import type { Facts } from "./facts.ts";
import type { Judge } from "./judge.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { judgePrompt } from "./judge-prompt.ts";

/** The part `judge`: a pure look into what the judge has said, and how it comes to be said. */
export interface JudgedPart {
  /** In [0, 1]; 0 where there is no answer to judge. @throws RewardError for an episode nobody asked about */
  value(facts: Facts): number;
  /** What the verdict took, also when it was in the cache; undefined where the server does not say. */
  usage(facts: Facts): TokenUsage | undefined;
  /** Asks about these; resolves with why, for those that could not be judged. */
  prepare(all: readonly Facts[], signal: AbortSignal): Promise<ReadonlyMap<Trajectory, string>>;
}

const nobodyAsked: TokenUsage = { promptTokens: 0, completionTokens: 0 };

export function judgeOf(judge: Judge, config: JudgeConfig): JudgedPart {
  const promptOf = ({ trajectory, prediction }: Facts) =>
    prediction === undefined || prediction === "" ? undefined : judgePrompt(trajectory, prediction, config);
  return {
    value(facts) {
      const prompt = promptOf(facts);
      if (prompt === undefined) return 0;
      const verdict = judge.verdict(prompt.key);
      if (verdict) return verdict.value;
      throw new RewardError({
        what: "the judge was not asked about this episode",
        where: `task ${facts.trajectory.task.id}, member ${facts.trajectory.member}`,
        next: "Score with scoreAll or scoreGroups, which ask first.",
      });
    },
    usage(facts) {
      const prompt = promptOf(facts);
      return prompt === undefined ? nobodyAsked : judge.verdict(prompt.key)?.usage;
    },
    async prepare(all, signal) {
      const asked = all.flatMap((facts) => {
        const prompt = promptOf(facts);
        return prompt ? [{ trajectory: facts.trajectory, prompt }] : [];
      });
      const failures = await judge.ask(
        asked.map(({ prompt }) => prompt),
        signal,
      );
      return new Map(
        asked.flatMap(({ trajectory, prompt }) => {
          const why = failures.get(prompt.key);
          return why === undefined ? [] : [[trajectory, why] as const];
        }),
      );
    },
  };
}
