import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../core/package-root.ts";
import { runCli } from "../cli.ts";
import type { Report } from "./report.ts";

type Step = Readonly<Record<string, number>>;

/**
 * Three steps of LoRA DAPO on real questions, sampled by vLLM, after a short warm-up: every step must publish an adapter
 * that the servers then use, and the recorded log-probabilities must be the trainer's.
 */
export async function trainOnVllm(
  url: string,
  o: { model: string; data: string; folder: string; maxLoras: number; report: Report },
): Promise<void> {
  const { report, data } = o;
  const run = join(o.folder, `run-${process.pid}`);
  const words = [
    "train",
    join(packageRoot(), "configs/smollm2-multihop.yaml"),
    ...[
      `run.dir=${run}`,
      `model.path=${o.model}`,
      `endpoint.servers=[${url}]`,
      `endpoint.adapterSlots=${o.maxLoras}`,
    ],
    ...[
      `data.train.path=${join(data, "questions.train.jsonl")}`,
      `search.corpus=${join(data, "corpus.jsonl.gz")}`,
    ],
    ...[
      `search.index=${join(o.folder, "index")}`,
      `eval.benchmarks.0.source.path=${join(data, "questions.dev.jsonl")}`,
    ],
    // Small: two cores sample thirty tokens a second. The reward's own spread is enough to have a gradient.
    ...[
      "sft.steps=30",
      "rl.steps=3",
      "rl.filterMetric=reward",
      "rollout.tasksPerStep=4",
      "rollout.groupSize=4",
    ],
    ...[
      "rollout.refillBatches=1",
      "rollout.concurrency=16",
      "env.maxTurns=2",
      "env.turnTokens=64",
      "eval.benchmarks.0.limit=4",
    ],
    ...["eval.evalSteps=[]", "eval.every=0", "eval.emAt=[4]"],
  ];
  const code = await runCli(words, {});
  report.check("a LoRA DAPO run on vLLM", code === 0, `exit ${code}, ${run}`);
  if (code !== 0) return;
  const metrics = readFileSync(join(run, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { phase: string; step: number; metrics?: Step } & Step)
    .filter(({ phase }) => phase === "rl")
    .map((line): Step => line.metrics ?? line);
  const shown = (key: string) => metrics.map((m) => m[key]?.toExponential(1) ?? "-").join(", ");
  report.check("three steps", metrics.length === 3, `${metrics.length}`);
  const gaps = metrics.flatMap((m) => (m["mismatch/mean_abs"] === undefined ? [] : [m["mismatch/mean_abs"]]));
  report.check(
    "mismatch at staleness 0",
    gaps.length > 0 && gaps.every((gap) => gap <= 1e-4),
    `mean |Δ logprob| ${shown("mismatch/mean_abs")}, largest ${shown("mismatch/max_abs")}`,
  );
  const updated = metrics.filter((m) => (m.updates ?? 0) > 0);
  report.check(
    "updates with a gradient",
    updated.length > 0 && updated.every((m) => (m.grad_norm ?? 0) > 0),
    `${updated.length} of 3 steps, gradient norms ${updated.map((m) => m.grad_norm?.toExponential(1)).join(", ")}`,
  );
  report.check(
    "the servers use each version",
    updated.every((m) => (m["canary/mean_abs"] ?? 1) < (m["canary/previous_mean_abs"] ?? 0)),
    `fixed prompt: ${shown("canary/mean_abs")} from this version, ${shown("canary/previous_mean_abs")} from the one before`,
  );
}
