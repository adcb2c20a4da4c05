/**
 * One whole training step (forward, backward, clip, AdamW) of `createLearner().update` against PyTorch eager on the
 * same cores: the same decoder shape, tokens, loss and optimiser, float32. Runs are interleaved (ours, theirs,
 * ours, …), so that a busy machine slows both; medians.
 *
 *   npx tsx bench/train-step.ts                                  ours alone
 *   FORAGER_PYTHON=venv/bin/python npx tsx bench/train-step.ts   ours and PyTorch's (pip install torch)
 *   options: --shape full|lora, --rounds 9, --threads 2, --spin
 */
import { type ChildProcess, spawn } from "node:child_process";
import { loadavg } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { rng } from "../core/rng.ts";
import type { Engine } from "../engine/engine.ts";
import { openEngine } from "../engine/open.ts";
import { optimizerConfig } from "../rl/config.ts";
import { createLearner } from "../rl/learner.ts";
import type { WeightedRow } from "../rl/micro-batch.ts";
import { initPolicy } from "../rl/policy/init.ts";
import { initLora, type LoraConfig } from "../rl/policy/lora.ts";
import { type ModelConfig, PROJECTION_NAMES } from "../rl/policy/model-config.ts";
import type { Policy } from "../rl/policy/policy.ts";

interface Shape {
  readonly about: string;
  readonly vocab: number;
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Rows of `length` predicted tokens. */
  readonly rows: number;
  readonly length: number;
  /** Of LoRA on every projection; 0 trains every weight. */
  readonly rank: number;
}

const shapes: Readonly<Record<string, Shape>> = {
  full: {
    about: "decoder of 2.0M parameters, every weight",
    ...{ vocab: 1024, layers: 4, hidden: 192, intermediate: 512, heads: 6, kvHeads: 6 },
    ...{ rows: 40, length: 64, rank: 0 },
  },
  lora: {
    about: "LoRA r 16 on every projection at SmolLM2-135M's shape",
    ...{ vocab: 49_152, layers: 30, hidden: 576, intermediate: 1536, heads: 9, kvHeads: 3 },
    ...{ rows: 2, length: 256, rank: 16 },
  },
};

const whole = z.coerce.number().int().min(1);
const { values } = parseArgs({
  options: {
    shape: { type: "string" },
    rounds: { type: "string", default: "9" },
    threads: { type: "string", default: "2" },
    spin: { type: "boolean", default: false },
  },
});
const rounds = whole.parse(values.rounds);
const threads = whole.parse(values.threads);
const python = process.env.FORAGER_PYTHON;

interface Time {
  readonly seconds: number;
  /** Of all threads. */
  readonly cpu: number;
}

/** Makes `steps` training steps and says what they took. */
type Side = (steps: number) => Promise<Time>;

function randomPolicy(shape: Shape): Policy {
  const config: ModelConfig = {
    ...{ modelType: "llama", vocabSize: shape.vocab, hiddenSize: shape.hidden },
    ...{ intermediateSize: shape.intermediate, layers: shape.layers, heads: shape.heads },
    ...{ kvHeads: shape.kvHeads, headDim: shape.hidden / shape.heads, rmsNormEps: 1e-5 },
    ...{ rope: { kind: "default", theta: 10_000 }, qkNorm: false, tieEmbeddings: true },
    ...{ attentionBias: false, outputBias: false, mlpBias: false, contextTokens: 2048 },
    ...{ eosIds: [], bosId: null, padId: null },
  };
  const policy = initPolicy(config, 1);
  if (shape.rank === 0) return policy;
  const lora: LoraConfig = {
    ...{ rank: shape.rank, alpha: 2 * shape.rank, rsLora: false, targetModules: PROJECTION_NAMES },
  };
  return { ...policy, frozen: policy.trainable, trainable: initLora(config, lora, 1), lora };
}

/** Every token after the first counts. */
function randomRows({ rows, length, vocab }: Shape): WeightedRow[] {
  const draw = rng(1, "bench", "train-step");
  return Array.from({ length: rows }, (_, row) => {
    const each = (at: () => number) => Array.from({ length: length + 1 }, (_, t) => (t === 0 ? 0 : at()));
    const advantage = row % 2 === 0 ? 0.5 : -0.5;
    return {
      tokens: Array.from({ length: length + 1 }, () => draw.int(vocab)),
      mask: each(() => 1),
      weights: each(() => 1 / (rows * length)),
      oldLogprobs: each(() => -Math.log(vocab)),
      advantages: each(() => advantage),
      temperature: 1,
    };
  });
}

function ours(engine: Engine, shape: Shape): Side {
  const rows = randomRows(shape);
  const learner = createLearner({
    ...{ engine, policy: randomPolicy(shape), optimizer: optimizerConfig.parse({}) },
    ...{ slots: shape.rows * shape.length },
    loss: {
      ...{ surrogate: "ppoClip", kl: "none", klCoefficient: 0, entropyCoefficient: 0 },
      ...{ clipLow: 0.2, clipHigh: 0.28 },
    },
  });
  return async (steps) => {
    const [wall, cpu] = [performance.now(), process.cpuUsage()];
    for (let step = 0; step < steps; step++) {
      const { slots, gradNorm } = await learner.update(rows, { temperature: 1, learningRate: 1e-5 });
      if (slots !== shape.rows * shape.length || !(gradNorm > 0))
        throw new Error(`${slots} slots, gradient norm ${gradNorm}`);
    }
    const { user, system } = process.cpuUsage(cpu);
    return { seconds: (performance.now() - wall) / 1000, cpu: (user + system) / 1e6 };
  };
}

interface Peer {
  readonly version: string;
  readonly side: Side;
  readonly process: ChildProcess;
}

/** Starts the peer, or says why it cannot run. */
async function peer(shape: Shape): Promise<Peer | string> {
  if (!python) return "set FORAGER_PYTHON to a Python with torch to compare";
  // Threads and kernels of the machine's own settings are left out: the peer's defaults are its fastest.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(OPENBLAS|OMP|MKL|GOMP)_/.test(name)),
  );
  const script = fileURLToPath(new URL("peers/train_step.py", import.meta.url));
  const child = spawn(python, [script, JSON.stringify(shape)], {
    env: { ...env, FORAGER_THREADS: `${threads}` },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr.on("data", (text) => {
    complaint = `${complaint}${text}`.slice(-500);
  });
  child.on("error", (error) => {
    complaint = error.message;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const reply = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(complaint || "it ended");
    return JSON.parse(value);
  };
  try {
    const { version } = await reply();
    const side: Side = (steps) => {
      child.stdin.write(`step ${steps}\n`);
      return reply();
    };
    return { version, side, process: child };
  } catch (error) {
    return (error as Error).message;
  }
}

const median = (list: readonly number[]) =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] as number;
const say = (line: string) => process.stdout.write(`${line}\n`);
const load = () => loadavg()[0]?.toFixed(1);

async function compare(shape: Shape): Promise<void> {
  const engine = await openEngine({ threads, spin: values.spin });
  const theirs = await peer(shape);
  const us = ours(engine, shape);
  try {
    const sides = typeof theirs === "string" ? [us] : [us, theirs.side];
    for (const side of sides) await side(2); // The first compiles.
    const times: Time[][] = sides.map(() => []);
    const before = load();
    for (let round = 0; round < rounds; round++)
      for (const [i, side] of sides.entries()) times[i]?.push(await side(1));
    const tokens = shape.rows * shape.length;
    say(
      `${shape.about}; ${tokens} tokens, ${threads} threads, ${rounds} rounds, load ${before} to ${load()}`,
    );
    const [mine, other] = times.map((list) => ({
      wall: tokens / median(list.map((t) => t.seconds)),
      cpu: tokens / median(list.map((t) => t.cpu)),
    }));
    const row = (name: string, x: { wall: number; cpu: number }) =>
      say(`${x.wall.toFixed(0).padStart(8)} tokens/s ${x.cpu.toFixed(0).padStart(8)} a CPU second  ${name}`);
    if (mine) row("forager", mine);
    if (typeof theirs === "string") say(`PyTorch not run: ${theirs}`);
    else if (mine && other) {
      row(`PyTorch ${theirs.version} eager`, other);
      say(
        `${(mine.wall / other.wall).toFixed(2)}x PyTorch (target 1.0x); per CPU second ${(mine.cpu / other.cpu).toFixed(2)}x`,
      );
    }
  } finally {
    if (typeof theirs !== "string") theirs.process.kill();
    await engine.dispose();
  }
}

for (const [name, shape] of Object.entries(shapes))
  if (values.shape === undefined || values.shape === name) await compare(shape);
