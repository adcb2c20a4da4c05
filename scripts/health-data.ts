import { statfsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { RewardError } from "../core/errors.ts";
import type { Task } from "../datasets/task.ts";
import type { Seat } from "../env/environment.ts";
import { rewardPresetOf } from "../reward/presets.ts";
import { isScored, scoreAll } from "../reward/score-all.ts";
import type { Scored } from "../reward/scored.ts";
import { paramsBytes } from "../rl/policy/footprint.ts";
import { demonstrate } from "../rollout/demonstrate.ts";
import { hasAgent } from "./agents.ts";
import type { HealthCheck, Patient } from "./health.ts";
import { runPath } from "./run-record.ts";
import { hasTeam } from "./team.ts";

/** The first questions a run would meet: of training, then of the benchmarks. */
function firstTasks({ setup }: Patient, n: number): readonly Task[] {
  const training = setup.source.batch(0, Math.min(n, setup.config.rollout.tasksPerStep), 0);
  return [...training, ...setup.benchmarks.flatMap(({ tasks }) => tasks.slice(0, n))].slice(0, n);
}

/** Says one thing and is done. */
const saying = (text: string): Seat => ({
  observe: async () => ({ tokens: 0, cut: 0 }),
  act: async () => ({ text, finish: "eos", tokens: 1 }),
});

/** The retriever answers the first question with as many passages as the environment shows. */
const retriever: HealthCheck = {
  name: "retriever",
  cheap: true,
  async run(patient) {
    const { retriever, config } = patient.setup;
    if (hasAgent(config)) return undefined;
    const task = firstTasks(patient, 1)[0];
    if (!task) return { verdict: "fail", evidence: "there is no question to ask" };
    const began = performance.now();
    const hits = (await retriever.search([task.question], config.env.topK, patient.signal))[0] ?? [];
    const took = `${(performance.now() - began).toFixed(1)} ms, ${retriever.size} passages`;
    return hits.length > 0
      ? { verdict: "ok", evidence: `${hits.length} passages for the first question in ${took}` }
      : {
          verdict: "fail",
          evidence: `nothing for the first question, ${took}`,
          next: "Is search.corpus the corpus of these questions?",
        };
  },
};

/** An episode that answers with the gold is worth what a right answer is worth: exact match 1, more than a wrong one. */
const scorer: HealthCheck = {
  name: "scorer",
  cheap: true,
  async run(patient) {
    const { environment, tokenizer, renderer, score, start } = patient.setup;
    if (patient.setup.config.env.name !== "researcher") return undefined;
    const { reward: rules } = patient.setup.config;
    const thought =
      (rules.format?.thinkFirst ?? rewardPresetOf(rules.preset).format.thinkFirst)
        ? "<think> so </think> "
        : "";
    const worth = async (task: Task, answer: string): Promise<Scored> => {
      const played = await demonstrate({
        ...{ task, member: 0, environment, tokenizer, renderer, seed: 1, step: 0, signal: patient.signal },
        contextTokens: start.config.contextTokens,
        expert: saying(`${thought}<answer> ${answer} </answer>`),
      });
      const [scored] = await scoreAll(score, [played], patient.signal);
      if (scored && isScored(scored)) return scored;
      throw new RewardError({ what: "an episode cannot be scored", got: scored?.failure ?? played.outcome });
    };
    // A judge costs money: a few verdicts say that it is there.
    const tasks = firstTasks(patient, score.prepare ? 3 : 100);
    const wrong: Task[] = [];
    let reward = Number.POSITIVE_INFINITY;
    for (const task of tasks) {
      const scored = await worth(task, task.goldenAnswers[0] ?? "");
      reward = Math.min(reward, scored.reward);
      if (scored.parts.exactMatch !== 1) wrong.push(task);
    }
    const other = tasks.find((task) => !sameGold(task, tasks[0]!))?.goldenAnswers[0];
    const nonsense = other === undefined ? 0 : (await worth(tasks[0]!, other)).reward;
    if (wrong.length > 0)
      return {
        verdict: wrong.length === tasks.length ? "fail" : "warn",
        evidence: `the gold answer of ${wrong.length} of ${tasks.length} questions is not scored as right, e.g. ${wrong[0]!.id}: ${wrong[0]!.goldenAnswers.join(" | ")}`,
        next: "Look at env.turnTokens (is the answer cut?), the tokenizer and reward.normalizer.",
      };
    return reward > nonsense
      ? {
          verdict: "ok",
          evidence: `gold answers of ${tasks.length} questions earn ${reward} or more, a wrong one ${nonsense}`,
        }
      : {
          verdict: "fail",
          evidence: `a gold answer earns ${reward}, a wrong one ${nonsense}`,
          next: "Look at reward.weights.",
        };
  },
};

const sameGold = (a: Task, b: Task) =>
  a.goldenAnswers.some((gold) => b.goldenAnswers.some((one) => one.toLowerCase() === gold.toLowerCase()));

/** Prompt, turns and observations at their limits, against the context. */
const room: HealthCheck = {
  name: "room",
  cheap: true,
  async run(patient) {
    const { renderer, config, start } = patient.setup;
    if (hasTeam(config)) return undefined; // a role's conversation grows with its rounds, and is compressed
    const { maxTurns, turnTokens, observationTokens } = config.env;
    const longest = Math.max(
      ...firstTasks(patient, 200).map(({ question }) => renderer.prompt(question).length),
    );
    const most = longest + maxTurns * turnTokens + (maxTurns - 1) * observationTokens;
    const context = start.config.contextTokens;
    const sum = `${longest} prompt + ${maxTurns} × ${turnTokens} turns + ${maxTurns - 1} × ${observationTokens} observations = ${most} tokens at most, context ${context}`;
    return most <= context
      ? { verdict: "ok", evidence: sum }
      : {
          verdict: "warn",
          evidence: sum,
          next: "Episodes that need it all end as `length`: raise model.contextTokens or lower env.maxTurns, turnTokens or observationTokens.",
        };
  },
};

/** Checkpoints hold the weights that learn and two moments of each. */
const disk: HealthCheck = {
  name: "disk",
  cheap: true,
  async run({ setup: { config, start } }) {
    const folder = nearestFolder(resolve(runPath(config, new Date(0))));
    const { bavail, bsize, blocks } = statfsSync(folder);
    if (blocks === 0) return undefined; // no disk: whoever writes there will say so
    const free = bavail * bsize;
    const needed = 3 * paramsBytes(start.trainable) * (config.track.keepCheckpoints + 3);
    const evidence = `${gigabytes(free)} free, checkpoints take up to ${gigabytes(needed)}`;
    return free > 1.2 * needed
      ? { verdict: "ok", evidence }
      : {
          verdict: "fail",
          evidence,
          next: "Free some space, set run.dir elsewhere, or lower track.keepCheckpoints.",
        };
  },
};

/** The nearest folder above that is there. */
export function nearestFolder(path: string): string {
  try {
    statfsSync(path);
    return path;
  } catch {
    return nearestFolder(dirname(path));
  }
}

export const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(bytes < 1e8 ? 3 : 1)} GB`;

export const dataChecks: readonly HealthCheck[] = [retriever, scorer, room, disk];
