import { existsSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { DataError } from "../../core/errors.ts";
import type { RunNumbers } from "../../track/run-numbers.ts";
import { sampledTokens } from "../../track/sampled-tokens.ts";
import { cacheValidity } from "./cache-validity.ts";
import { duration } from "./format.ts";
import type { Report } from "./report.ts";
import { isEvaluation, readJson } from "./stored-evaluations.ts";

const text = z.string().optional();
const whole = z.number().optional();

/** What a report says of a resolved config: of any version, so nothing has to be there. */
const configShape = z.looseObject({
  run: z.looseObject({ name: text, seed: whole }).optional(),
  model: z.looseObject({ path: text, training: text }).optional(),
  search: z.looseObject({ engine: text, index: text }).optional(),
  env: z.looseObject({ name: text, maxTurns: whole, topK: whole }).optional(),
  rollout: z
    .looseObject({ tasksPerStep: whole, groupSize: whole, temperature: whole, finalTemperature: whole })
    .optional(),
  reward: z
    .looseObject({
      ...{ preset: text, normalizer: text, extraction: text },
      hacks: z.record(z.string(), z.looseObject({ threshold: whole, action: text })).optional(),
    })
    .optional(),
  eval: z
    .looseObject({
      prices: z
        .looseObject({
          currency: z.string(),
          promptPerMillionTokens: z.number(),
          completionPerMillionTokens: z.number(),
        })
        .optional(),
    })
    .optional(),
  rl: z.looseObject({ preset: text, steps: whole, updatesPerStep: whole, aggregation: text }).optional(),
});

const metaShape = z.looseObject({
  forager: text,
  node: text,
  platform: text,
  threads: whole,
  revision: text,
  configSha256: text,
  startedAt: text,
  attempts: whole,
});
const summaryShape = z.looseObject({
  status: z.enum(["done", "interrupted", "failed"]).optional(),
  seconds: whole,
  weightsSha256: text,
  error: text,
});
const evaluationShape = z.looseObject({ policy: text, weightsSha256: text });

type Fact = Report["facts"][number];
type Config = z.infer<typeof configShape>;

/** A run's config, circumstances and end, as far as they are there. */
export interface Circumstances {
  readonly name: string;
  readonly config: Config;
  readonly meta: z.infer<typeof metaShape>;
  readonly summary: z.infer<typeof summaryShape>;
  readonly status: "done" | "interrupted" | "failed" | undefined;
  readonly error: string | undefined;
  readonly plannedSteps: number | undefined;
  readonly baseModel: string | undefined;
}

/** @throws DataError for a damaged file */
export function readCircumstances(folder: string): Circumstances {
  const config = readShape(join(folder, "config.yaml"), configShape);
  const summary = readShape(join(folder, "summary.json"), summaryShape);
  return {
    name: config.run?.name ?? basename(resolve(folder)),
    config,
    meta: readShape(join(folder, "meta.json"), metaShape),
    summary,
    status: summary.status,
    error: summary.error,
    plannedSteps: config.rl?.steps,
    baseModel: config.model?.path === undefined ? undefined : basename(config.model.path),
  };
}

export function runFacts({ config, meta, summary, baseModel }: Circumstances, run: RunNumbers): Fact[] {
  const rl = run.steps.filter(({ phase }) => phase === "rl");
  const total = (metric: string) => rl.reduce((n, { metrics }) => n + (metrics[metric] ?? 0), 0);
  const tokens = sampledTokens(rl);
  const seconds = summary.seconds ?? run.steps.at(-1)?.metrics.seconds_total;
  return [
    fact("base model", words(baseModel ?? "a new one of the config's own", config.model?.training)),
    fact("training steps", count(rl.at(-1)?.step, config.rl?.steps)),
    fact("warm-up steps", run.steps.filter(({ phase }) => phase === "sft").length || undefined),
    fact("episodes", total("episodes") || undefined),
    fact("sampled tokens", tokens || undefined),
    fact("wall time", seconds === undefined ? undefined : duration(seconds)),
    ...configFacts(config),
    fact("seed", config.run?.seed),
    fact("started", meta.startedAt),
    fact("attempts", meta.attempts),
    fact("forager", words(meta.forager, meta.revision && `revision ${meta.revision}`)),
    fact("machine", words(meta.platform, meta.node && `node ${meta.node}`, threads(meta.threads))),
    fact("config sha256", meta.configSha256),
    fact("weights sha256", summary.weightsSha256 || undefined),
  ].flat();
}

/** What the account of a team needs beside the run's numbers. */
export const teamCircumstances = (folder: string, { config, summary }: Circumstances) => ({
  rules: config.reward?.hacks,
  prices: config.eval?.prices,
  seconds: summary.seconds,
  cache: cacheValidity(folder),
});

/** Of evaluations: what `forager eval` left beside them, or the run that they stand in. */
export function evaluationFacts(folder: string): Fact[] {
  const holder = isEvaluation(folder) ? join(folder, "..") : folder;
  const above = basename(resolve(holder)) === "evals" ? join(holder, "..") : holder;
  const evaluation = readShape(join(above, "evaluation.json"), evaluationShape);
  const config = readShape(join(above, "config.yaml"), configShape);
  return [
    fact("policy", evaluation.policy),
    fact("weights sha256", evaluation.weightsSha256),
    ...configFacts(config),
  ].flat();
}

function configFacts({ env, search, rollout, reward, rl }: Config): Fact[] {
  return [
    fact("algorithm", words(rl?.preset, rl?.aggregation, updates(rl?.updatesPerStep))),
    fact("reward", words(reward?.preset, reward?.normalizer && `normaliser ${reward.normalizer}`)),
    fact("answers judged", reward?.extraction),
    fact("environment", words(env?.name, env?.maxTurns && `at most ${env.maxTurns} turns`)),
    fact(
      "search",
      words(search?.engine, search?.index && basename(search.index), env?.topK && `top ${env.topK}`),
    ),
    fact(
      "rollouts",
      words(
        rollout?.tasksPerStep && `${rollout.tasksPerStep} questions a step`,
        rollout?.groupSize && `${rollout.groupSize} episodes each`,
        rollout?.temperature !== undefined &&
          `temperature ${[rollout.temperature, rollout.finalTemperature].filter((t) => t !== undefined).join(" to ")}`,
      ),
    ),
  ].flat();
}

const fact = (name: string, value: string | number | undefined): Fact[] =>
  value === undefined || value === "" ? [] : [{ name, value: String(value) }];
const words = (...some: readonly (string | number | false | undefined)[]) =>
  some.filter((word) => word !== undefined && word !== false && word !== "" && word !== 0).join(", ");
const count = (done = 0, planned = done) => (done === planned ? `${done}` : `${done} of ${planned}`);
const threads = (n: number | undefined) => n && `${n} threads`;
const updates = (n: number | undefined) => n && (n === 1 ? "1 update a step" : `${n} updates a step`);

/** An empty object where there is no file. */
function readShape<T>(path: string, shape: z.ZodType<T>): T {
  if (!existsSync(path)) return shape.parse({});
  const value = path.endsWith(".yaml") ? readYaml(path) : readJson(path);
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw damaged(path, `${issue?.path.join(".")}: ${issue?.message}`);
}

function readYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, "utf8")) as unknown;
  } catch (cause) {
    throw damaged(path, cause instanceof Error ? cause.message : String(cause));
  }
}

const damaged = (where: string, got: string) =>
  new DataError({ what: "the file is damaged", where, got, next: "Restore it, or move it away." });
