/**
 * What the harness itself costs per turn. The policy is an instant stub (its answers are encoded beforehand) and
 * the index lies in memory, so what is measured is ours: environment, search in the toy index, seat, ledger, audit,
 * waves, groups. Texts are tokenised once and looked up after that, as for the peer, whose ids come ready from its
 * stub too; one row shows the same with tokenising. Turns per second of CPU time, so that a busy machine changes it
 * less; one core, since all of it is one thread (the garbage collector's helpers are counted).
 *
 *   npx tsx bench/rollout.ts                                  ours
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
import { completionOf } from "../rollout/testing.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import { defaultVocabulary } from "../rollout/vocabulary.ts";

const groupSize = 8;
const turnsPerEpisode = 3;
const repeats = 7;

const words = Array.from({ length: 3000 }, (_, i) => `w${i.toString(36)}`);

/** The same texts for every harness: 64 questions, 2,000 passages of 100 words, turns of about 40 words. */
function makeWorkload() {
  const draw = rng(1, "bench", "rollout");
  const say = (n: number) => Array.from({ length: n }, () => draw.pick(words)).join(" ");
  const passages: Passage[] = Array.from({ length: 2000 }, (_, i) => ({
    id: `p${i}`,
    title: say(3),
    text: say(100),
  }));
  const questions = Array.from({ length: 64 }, (_, i) => ({
    id: `q${i}`,
    question: say(8),
    turns: [
      `<think> ${say(35)} </think>\n<search> ${say(3)} </search>`,
      `<think> ${say(35)} </think>\n<search> ${say(3)} </search>`,
      `<think> ${say(35)} </think>\n<answer> ${say(2)} </answer>`,
    ],
  }));
  return { passages, questions, groupSize };
}

const workload = makeWorkload();
const tokenising = tinyTokenizer(defaultVocabulary(words));

/** Computes each text and each list of ids once. */
function remembering(inner: Tokenizer): Tokenizer {
  const ids = new Map<string, number[]>();
  const texts = new WeakMap<readonly number[], string>();
  return {
    ...inner,
    encode(text) {
      const known = ids.get(text) ?? inner.encode(text);
      ids.set(text, known);
      return known;
    },
    decode(list) {
      const known = texts.get(list) ?? inner.decode(list);
      texts.set(list, known);
      return known;
    },
  };
}

/** Says the question's turns without computing anything; turn and question are read off the request. */
function stub(): { plain: Sampler; batch: BatchSampler } {
  const params = { temperature: 1, topP: 1, topK: 0, maxTokens: 500, stop: ["</search>"], seed: 0 };
  const said = new Map(
    workload.questions.map(({ id, turns }) => [
      id,
      turns.map((text) => completionOf(text, { sequence: "", prompt: [], params }, tokenising, 0)),
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

async function ours(policy: Sampler | BatchSampler, tokenizer: Tokenizer): Promise<number> {
  const renderer: Renderer = {
    prompt: (question) => tokenizer.encode(`<question> ${question} </question>`),
    observation: (text) => text,
  };
  const tasks: Task[] = workload.questions.map(({ id, question }) => ({
    ...{ id, question },
    ...{ goldenAnswers: ["x"], dataset: "bench", hops: 1 },
  }));
  const environment = researcher({
    retriever: tinyIndex(workload.passages),
    config: envConfig.parse({ passageFormat: "plain" }),
    seed: 1,
  });
  const options = {
    ...rolloutConfig.parse({ groupSize }),
    ...{ environment, policy, tokenizer, renderer, seed: 1 },
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

interface Peer {
  readonly version: string;
  /** Turns per CPU second, by what its client hands over. */
  readonly text: number;
  readonly tokens: number;
}

function peer(python: string): Peer | string {
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
const remembered = remembering(tokenising);
const rows: [string, number][] = [
  ["forager, ids and logprobs kept, in waves (in-process policy)", await ours(batch, remembered)],
  ["forager, ids and logprobs kept, 64 at a time (remote policy)", await ours(plain, remembered)],
];
const slower = Math.min(...rows.map(([, rate]) => rate));
rows.push(["forager in waves, tokenising as it goes (tiny vocabulary)", await ours(batch, tokenising)]);
const python = process.env.FORAGER_PYTHON;
const theirs = python ? peer(python) : "set FORAGER_PYTHON to a Python with verifiers to compare";
if (typeof theirs === "object")
  rows.push(
    [`verifiers ${theirs.version} MultiTurnEnv, ids and logprobs kept (OpenAI client, stub)`, theirs.tokens],
    [`verifiers ${theirs.version} MultiTurnEnv, text only`, theirs.text],
  );

const episodes = workload.questions.length * groupSize;
process.stdout.write(
  `harness overhead: ${episodes} episodes of ${turnsPerEpisode} turns, instant policy, index in memory\n`,
);
for (const [name, rate] of rows)
  process.stdout.write(`${rate.toFixed(0).padStart(8)} turns/s per core  ${name}\n`);
process.stdout.write(
  typeof theirs === "string"
    ? `verifiers not run: ${theirs}\n`
    : `${(slower / theirs.tokens).toFixed(1)}x verifiers for the same record (target 10x), ${(slower / theirs.text).toFixed(1)}x its text only; by the slower of our two\n`,
);
