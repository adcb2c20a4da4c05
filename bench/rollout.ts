/**
 * What the harness itself costs per turn. The policy is an instant stub (its answers are encoded beforehand) and
 * the index lies in memory, so what is measured is ours: environment, seat, ledger, tokenising observations
 * (bytes: no tokenizer library), audit, waves, groups. Turns per second of CPU time, so a busy machine does not
 * change it; one core, since all of it is one thread.
 *
 *   npx tsx bench/rollout.ts                               ours
 *   FORAGER_PYTHON=venv/bin/python npx tsx bench/rollout.ts   ours and verifiers (pip install verifiers==0.1.14)
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rng } from "../core/rng.ts";
import type { Passage, Task } from "../datasets/task.ts";
import { envConfig } from "../env/config.ts";
import { researcher } from "../env/researcher.ts";
import { tinyIndex } from "../env/testing.ts";
import { rolloutConfig } from "../rollout/config.ts";
import { rollGroups } from "../rollout/groups.ts";
import type { BatchSampler, Completion, SampleRequest, Sampler } from "../rollout/sampler.ts";
import { byteTokenizer, completionOf, toyRenderer } from "../rollout/testing.ts";

const groupSize = 8;
const turnsPerEpisode = 3;
const repeats = 7;

/** The same texts for every harness: 64 questions, 2,000 passages of 100 words, turns of about 40 words. */
function makeWorkload() {
  const draw = rng(1, "bench", "rollout");
  const words = Array.from({ length: 3000 }, (_, i) => `w${i.toString(36)}`);
  const say = (n: number) => Array.from({ length: n }, () => draw.pick(words)).join(" ");
  const passages: Passage[] = Array.from({ length: 2000 }, (_, i) => ({
    id: `p${i}`,
    title: say(3),
    text: say(100),
  }));
  const questions = Array.from({ length: 64 }, (_, i) => ({
    id: `q${i}`,
    question: `Who is the ${say(8)}?`,
    turns: [
      `<think> ${say(35)} </think>\n<search> ${say(3)} </search>`,
      `<think> ${say(35)} </think>\n<search> ${say(3)} </search>`,
      `<think> ${say(35)} </think>\n<answer> ${say(2)} </answer>`,
    ],
  }));
  return { passages, questions, groupSize };
}

const workload = makeWorkload();
const tokenizer = byteTokenizer();

/** Says the question's turns without computing anything; turn and question are read off the request. */
function stub(): { plain: Sampler; batch: BatchSampler } {
  const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 500, stop: ["</search>"], seed: 0 };
  const said = new Map(
    workload.questions.map(({ id, turns }) => [
      id,
      turns.map((text) => completionOf(text, { sequence: "", prompt: [], params }, tokenizer, 0)),
    ]),
  );
  const turns = new Map<string, number>();
  const answer = ({ sequence }: SampleRequest): Completion => {
    const turn = turns.get(sequence) ?? 0;
    turns.set(sequence, turn + 1);
    return said.get(sequence.split("/")[1] as string)?.[turn] as Completion;
  };
  const rest = { contextTokens: 32_768, release: (sequence: string) => void turns.delete(sequence) };
  return {
    plain: { ...rest, sample: async (request) => answer(request) },
    batch: { ...rest, sampleBatch: async (requests) => requests.map(answer) },
  };
}

async function ours(policy: Sampler | BatchSampler): Promise<number> {
  const tasks: Task[] = workload.questions.map(({ id, question }) => ({
    ...{ id, question },
    ...{ goldenAnswers: ["x"], dataset: "bench", hops: 1 },
  }));
  const environment = researcher({
    retriever: tinyIndex(workload.passages),
    config: envConfig.parse({ observationTokens: 4000 }),
    seed: 1,
  });
  const options = {
    ...rolloutConfig.parse({ groupSize }),
    ...{ environment, policy, tokenizer, renderer: toyRenderer(tokenizer), seed: 1 },
    decoding: { temperature: 1, topP: 1, topK: 0 },
  };
  const rates: number[] = [];
  for (let step = 0; step < repeats; step++) {
    const start = process.cpuUsage();
    const { groups } = await rollGroups(tasks, { ...options, step });
    const { user, system } = process.cpuUsage(start);
    const turns = groups.flatMap((g) => g.members).reduce((sum, m) => sum + (m.ending?.turns ?? 0), 0);
    if (turns !== tasks.length * groupSize * turnsPerEpisode) throw new Error(`${turns} turns`);
    rates.push(turns / ((user + system) / 1e6));
  }
  return median(rates.slice(1)); // The first compiles.
}

function peer(python: string): { turnsPerCpuSecond: number; version: string } | string {
  const folder = mkdtempSync(join(tmpdir(), "forager-bench-"));
  try {
    const path = join(folder, "workload.json");
    writeFileSync(path, JSON.stringify(workload));
    const script = fileURLToPath(new URL("peers/verifiers_rollout.py", import.meta.url));
    const { status, stdout, stderr } = spawnSync(python, [script, path], { encoding: "utf8" });
    return status === 0 ? JSON.parse(stdout.trim().split("\n").at(-1) as string) : stderr.slice(-500);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

const { plain, batch } = stub();
const rows: [string, number][] = [
  ["forager, in waves (in-process policy)", await ours(batch)],
  ["forager, 64 at a time (remote policy)", await ours(plain)],
];
const python = process.env.FORAGER_PYTHON;
const theirs = python ? peer(python) : "set FORAGER_PYTHON to a Python with verifiers to compare";
if (typeof theirs === "object")
  rows.push([`verifiers ${theirs.version}, MultiTurnEnv in-process`, theirs.turnsPerCpuSecond]);

process.stdout.write(
  `harness overhead: ${workload.questions.length * groupSize} episodes of ${turnsPerEpisode} turns, instant policy, index in memory\n`,
);
for (const [name, rate] of rows)
  process.stdout.write(`${rate.toFixed(0).padStart(8)} turns/s per core  ${name}\n`);
if (typeof theirs === "string") process.stdout.write(`verifiers not run: ${theirs}\n`);
else {
  const slower = Math.min(...rows.slice(0, 2).map(([, rate]) => rate));
  process.stdout.write(
    `${(slower / theirs.turnsPerCpuSecond).toFixed(1)}x verifiers (target 10x), the slower of our two\n`,
  );
}
