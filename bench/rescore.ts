/**
 * Scoring stored episodes: how long `forager rescore` takes over a run of 100,000, and trajectories scored a second
 * against Search-R1's rules in Python, both with the episodes in memory, in rounds that alternate.
 *
 *   npx tsx bench/rescore.ts                              [--episodes 100000] [--rounds 5] [--folder DIR] [--python python3]
 *
 * The run is written to a temporary folder (about 20 KB an episode) and removed, unless `--folder` names one, which is
 * used again when it is there.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { loadConfig } from "../configs/load-config.ts";
import { type RewardConfig, rewardConfig } from "../reward/config.ts";
import { makeScorer } from "../reward/scorer.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { makeOutput } from "../scripts/output.ts";
import { loadReward } from "../scripts/rescore-reward.ts";
import { rescore } from "../scripts/rescore-work.ts";
import { openGroups } from "../track/stored-groups.ts";
import { median } from "./harness.ts";
import { makeStoredRun } from "./stored-run.ts";

const { values } = parseArgs({
  options: {
    episodes: { type: "string", default: "100000" },
    rounds: { type: "string", default: "5" },
    folder: { type: "string" },
    python: { type: "string", default: "python3" },
  },
});
const whole = z.coerce.number().int().min(1);
const rounds = whole.parse(values.rounds);
const root = values.folder ?? mkdtempSync(join(tmpdir(), "forager-rescore-"));
const folder = join(root, "run");
const say = (line: string) => process.stdout.write(`${line}\n`);

interface Time {
  readonly seconds: number;
  readonly cpu: number;
}

async function timed<T>(work: () => T | Promise<T>): Promise<{ result: T } & Time> {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  return { result, seconds: (performance.now() - wall) / 1e3, cpu: (user + system) / 1e6 };
}

async function wholeRun(): Promise<void> {
  const { config } = loadConfig(join(folder, "config.yaml"));
  for (const preset of ["dmi", "search-r1", "r1-searcher"]) {
    const fresh = loadReward(undefined, [`reward.preset=${preset}`], { folder, config });
    const { result, seconds, cpu } = await timed(() =>
      rescore({
        ...{ folder, config, fresh, own: {}, examples: 5, evals: false },
        ...{ output: makeOutput({ json: false, quiet: true }), signal: new AbortController().signal },
      }),
    );
    const { episodes, advantages, best } = result.found.all;
    const memory = Math.round(process.resourceUsage().maxRSS / 1024);
    say(
      `${preset}: ${episodes} stored episodes in ${seconds.toFixed(1)} s (${cpu.toFixed(1)} CPU s), ${Math.round(episodes / seconds)} a second, at most ${memory} MB; ${advantages.flipped} signs, ${best.flipped} best members`,
    );
  }
}

/** Search-R1's two rules and the presets that are the same; between them the scores that ours keeps whatever counts. */
const rules = [
  { name: "em", about: "exact match alone", reward: { preset: "search-r1" } },
  {
    ...{ name: "three", about: "exact match, F1 and cover match" },
    reward: { weights: { exactMatch: 1, f1: 1, coverMatch: 1 }, combination: "sum", maxDivisor: 1 },
  },
  { name: "format", about: "the format rules", reward: { preset: "search-r1-format" } },
] as const;

/** Episodes of two steps, and how often a round scores them. */
const [held, passes] = [1024, 10];

function some(n: number): Trajectory[] {
  const store = openGroups(folder, 1);
  const found: Trajectory[] = [];
  for (const { groups } of store.steps()) {
    found.push(...groups.flatMap(({ members }) => members.map(({ trajectory }) => trajectory)));
    if (found.length >= n) break;
  }
  store.close();
  return found;
}

/** Of the last pass. The scorer is made anew in each, so that gold answers are normalised again, as theirs are. */
function totalOf(episodes: readonly Trajectory[], reward: RewardConfig): number {
  let total = 0;
  for (let pass = 0; pass < passes; pass++) {
    const score = makeScorer(reward);
    total = episodes.reduce((sum, each) => sum + score(each).reward, 0);
  }
  return total;
}

async function against(python: string): Promise<void> {
  const episodes = some(held);
  const file = join(root, "episodes.jsonl");
  const text = ({ sequences }: Trajectory) => {
    const [prompt, ...rest] = sequences.flatMap(({ segments }) => segments.map((segment) => segment.text));
    return `${prompt}<|im_start|>assistant\n${rest.join("")}`;
  };
  const rows = episodes.map((each) => JSON.stringify({ text: text(each), golds: each.task.goldenAnswers }));
  writeFileSync(file, `${rows.join("\n")}\n`);
  const child = spawn(python, [fileURLToPath(new URL("peers/search_r1_reward.py", import.meta.url)), file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const reply = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the peer ended");
    return JSON.parse(value as string) as Time & { total: number; version: string };
  };
  const { version } = await reply();
  for (const { name, about, reward } of rules) {
    const times: { ours: Time[]; theirs: Time[] } = { ours: [], theirs: [] };
    for (let round = 0; round <= rounds; round++) {
      const ours = await timed(() => totalOf(episodes, rewardConfig.parse(reward)));
      child.stdin.write(`${name} ${passes}\n`);
      const theirs = await reply();
      if (Math.abs(ours.result - theirs.total) > 1e-6)
        throw new Error(`${name}: the two disagree, ${ours.result} and ${theirs.total}`);
      if (round === 0) continue; // the first warms both
      times.ours.push(ours);
      times.theirs.push(theirs);
    }
    const ratio = (of: (list: readonly number[]) => number, key: keyof Time) =>
      of(times.theirs.map((time) => time[key])) / of(times.ours.map((time) => time[key]));
    const best = (list: readonly number[]) => Math.min(...list);
    const rate = (list: readonly Time[]) =>
      Math.round((passes * episodes.length) / best(list.map(({ seconds }) => seconds)));
    say(
      `${about}: ours ${rate(times.ours)} trajectories a second in its best round of ${rounds}, Python ${version} ${rate(times.theirs)}: ${ratio(best, "seconds").toFixed(1)}x; medians ${ratio(median, "seconds").toFixed(1)}x, of CPU ${ratio(median, "cpu").toFixed(1)}x (${episodes.length} episodes, the same total)`,
    );
  }
  child.stdin.end();
}

try {
  if (!existsSync(join(folder, "run.db"))) {
    const { result, seconds } = await timed(() => makeStoredRun(folder, whole.parse(values.episodes)));
    say(
      `written: ${result} episodes, ${(statSync(join(folder, "run.db")).size / 1e9).toFixed(2)} GB in ${seconds.toFixed(0)} s`,
    );
  }
  say(`load ${loadavg()[0]?.toFixed(1)}`);
  await wholeRun();
  await against(values.python);
} finally {
  if (values.folder === undefined) rmSync(root, { recursive: true, force: true });
}
