import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Rng, rng } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import { rewardConfig } from "../reward/config.ts";
import type { Scored } from "../reward/scored.ts";
import { makeScorer } from "../reward/scorer.ts";
import { advantagesOf } from "../rl/advantage.ts";
import { judge } from "../rl/filter.ts";
import type { Segment, Trajectory } from "../rollout/trajectory.ts";
import { openRunDb } from "../track/run-db.ts";

const groupSize = 8;
const groupsPerStep = 64;

const config = `run: { name: bench }
model: { tiny: { contextTokens: 2048 } }
rollout: { groupSize: ${groupSize}, tasksPerStep: ${groupsPerStep} }
`;

const words = "river city born film country author capital year king song team island bridge war bank".split(
  " ",
);
const prose = (draw: Rng, n: number) => Array.from({ length: n }, () => draw.pick(words)).join(" ");

/** As many ids as the text has tokens, at four letters each. */
const tokensOf = (text: string) => Array.from({ length: Math.ceil(text.length / 4) }, (_, i) => i);
const policy = (text: string): Segment => {
  const tokens = tokensOf(text);
  return { source: "policy", text, tokens, logprobs: tokens.map(() => -0.5), version: 0, finish: "stop" };
};
const observation = (draw: Rng): Segment => {
  const passages = [1, 2, 3].map((i) => `Doc ${i}(Title: "${draw.pick(words)}") ${prose(draw, 100)}`);
  const text = `\n\n<information>${passages.join("\n")}</information>\n\n`;
  return { source: "observation", text, tokens: tokensOf(text) };
};

/** Two searches and an answer of Search-R1's form: right, wrong, without an answer, or without its thoughts. */
function episode(task: Task, member: number, prompt: Segment, draw: Rng): Trajectory {
  const kind = draw();
  const thought = () => (kind > 0.9 ? "" : `<think>${prose(draw, 40)}</think>\n`);
  const search = () => policy(`${thought()}<search>${prose(draw, 6)}</search>`);
  const answer = kind < 0.4 || kind > 0.95 ? (task.goldenAnswers[0] as string) : prose(draw, 3);
  const last = policy(`${thought()}${kind > 0.8 && kind < 0.9 ? "" : `<answer>The ${answer}.</answer>`}`);
  const segments = [prompt, search(), observation(draw), search(), observation(draw), last];
  const searches = [0, 1].map(() => ({
    query: "q",
    passageIds: ["1", "2", "3"],
    repeated: false,
    milliseconds: 1,
  }));
  return {
    ...{ task, member, sequences: [{ seat: "researcher", segments }], temperature: 1, seconds: 1 },
    outcome: "answered",
    ending: { outcome: "answered", turns: 3, searches, invalidActions: 0, observationTokensCut: 0 },
  };
}

/**
 * Writes a run folder with episodes of about 6,000 letters each, scored under `dmi`: only what `forager rescore` reads.
 * @returns how many episodes it holds
 */
export function makeStoredRun(folder: string, episodes: number): number {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.yaml"), config);
  const score = makeScorer(rewardConfig.parse({}));
  const db = openRunDb(folder);
  const steps = Math.ceil(episodes / (groupSize * groupsPerStep));
  for (let step = 1; step <= steps; step++) {
    const trajectories = Array.from({ length: groupsPerStep }, (_, group) => {
      const draw = rng(1, "stored run", step, group);
      const task: Task = {
        ...{ id: `q${step}-${group}`, question: `who is the ${prose(draw, 8)}?` },
        ...{ goldenAnswers: [prose(draw, 2), prose(draw, 3)], dataset: "bench", hops: 2 },
      };
      const text = `${prose(draw, 120)}, for example <answer> Beijing </answer>. Question: ${task.question}\n`;
      const prompt: Segment = { source: "prompt", text, tokens: tokensOf(text) };
      const members = Array.from(
        { length: groupSize },
        (_, i): Scored => score(episode(task, i, prompt, draw)),
      );
      const verdict = judge(members, { filter: "spread", filterMetric: "reward" });
      const advantages = verdict === "kept" ? advantagesOf("drGrpo", members) : undefined;
      return members.map((trajectory, i) => ({
        ...{ trajectory, group, verdict },
        ...(advantages ? { advantage: advantages[i] as number } : {}),
      }));
    }).flat();
    db.commit({ phase: "rl", step, metrics: {}, trajectories });
  }
  db.close();
  return steps * groupSize * groupsPerStep;
}
