import { createHash } from "node:crypto";
import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { ConfigError, ForagerError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { benchmarkTable } from "../eval/benchmark-table.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import { readRecords } from "../eval/record-file.ts";
import { evaluationTable, resultLine } from "../eval/table.ts";
import { evalFolder } from "../track/run-folder.ts";
import { checkOutFolder } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { evaluateWith } from "./evaluations.ts";
import { type OpenPolicy, tellStart } from "./open-policy.ts";
import type { Output } from "./output.ts";
import { checkPolicyArguments, openNamedPolicy, withPolicy } from "./policy-options.ts";
import { openSetup, type Setup } from "./setup.ts";
import { withConfig } from "./with-config.ts";

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    [
      "forager eval runs/quickstart/config.yaml --policy runs/quickstart",
      "a run's last policy on its own benchmarks",
    ],
    [
      "forager eval my.yaml --policy runs/quickstart --step 0",
      "the same run as reinforcement learning began",
    ],
    ["forager eval my.yaml eval.modes=[sampled] eval.samples=8", "the config's model, pass@1 to pass@8"],
    [
      "forager eval my.yaml --endpoint https://host --chat --model NAME --api-key-env KEY",
      "a closed model on the same questions",
    ],
  ],
  builder: (yargs) =>
    withPolicy(withConfig(yargs))
      .option("out", {
        type: "string",
        describe:
          "folder for records and results; default: evals/NAME-HASH, the same for the same evaluation",
      })
      .option("markdown", { type: "boolean", default: false, describe: "tables in Markdown" }),
  async run(args, output, signal, extensions) {
    const { config: path, overrides, out } = args;
    const { config, stated } = loadConfig(path, overrides);
    if (config.eval.benchmarks.length === 0)
      throw new ConfigError({
        what: "the config names no benchmark to evaluate on",
        where: "eval.benchmarks",
        expected: "one or more",
        next: "Add one: eval: { benchmarks: [{ name: dev, source: { kind: jsonl, path: dev.jsonl } }] }",
      });
    checkPolicyArguments(args, extensions);
    if (args.endpoint === undefined) tellStart(path, args.policy, output);
    if (out !== undefined) checkOutFolder(out);
    const setup = await openSetup(config, { output, signal, extensions });
    try {
      const policy = await openNamedPolicy(args, setup, { output, signal, extensions });
      try {
        const folder = out ?? join("evals", `${policy.name}-${fingerprint(setup, policy)}`);
        checkOutFolder(folder);
        const results = await measure(setup, policy, { folder, output, signal });
        writeFileAtomic(join(folder, "config.yaml"), printConfig(config, stated));
        report(policy, results, { folder, output, markdown: args.markdown });
      } finally {
        await policy.close();
      }
    } finally {
      await setup.close();
    }
  },
});

async function measure(
  setup: Setup,
  policy: OpenPolicy,
  o: { folder: string; output: Output; signal: AbortSignal },
): Promise<EvalResult[]> {
  const { folder, output, signal } = o;
  output.line(`policy ${policy.label}`);
  output.line(`records in ${folder}`);
  output.event("evaluation", { out: folder, policy: policy.label });
  const before = recorded(setup.config, policy, folder);
  if (before > 0) output.line(`${before} episodes were recorded there earlier and are not played again`);
  try {
    return await evaluateWith(setup, {
      ...policy,
      ...{ folder, output, signal },
      onResult(result) {
        output.line(resultLine(result));
        output.event("eval", { ...result });
      },
    });
  } catch (error) {
    if (signal.aborted)
      output.line(`Interrupted. The same command with --out ${folder} goes on from what is recorded.`);
    throw error;
  }
}

/** Prints and writes the results. @throws ForagerError when infrastructure broke too many episodes of one */
function report(
  policy: OpenPolicy,
  results: readonly EvalResult[],
  { folder, output, markdown }: { folder: string; output: Output; markdown: boolean },
): void {
  const { label, step, weightsSha256 } = policy;
  const whole = { policy: label, step, ...(weightsSha256 ? { weightsSha256 } : {}), evals: results };
  writeFileAtomic(join(folder, "evaluation.json"), `${JSON.stringify(whole, null, 2)}\n`);
  for (const name of new Set(results.map(({ benchmark }) => benchmark)))
    output.print(
      `\n${benchmarkTable(
        results.filter(({ benchmark }) => benchmark === name),
        { markdown },
      )}`,
    );
  output.print(`\n${evaluationTable(results, { markdown })}`);
  const broken = results.find(({ valid }) => !valid);
  if (broken)
    throw new ForagerError({
      what: `the evaluation of ${broken.benchmark}, ${broken.mode} does not count`,
      where: folder,
      got: `${broken.infra} episodes failed, most by ${broken.failure ?? "an unknown cause"}`,
      next: "Mend the cause and run the same command again: only the failed part is played again.",
    });
  output.result({ out: folder, ...whole });
}

/** Everything that episodes depend on, in eight digits: the same evaluation finds its own records again. */
export function fingerprint({ config, retriever, tokenizer }: Setup, { weights, step }: OpenPolicy): string {
  const { env, search, reward, rollout, model } = config;
  const {
    modes: _modes,
    emAt: _at,
    every: _every,
    evalSteps: _steps,
    maxInfraShare: _share,
    prices: _prices,
    ...asked
  } = config.eval;
  const parts = {
    weights,
    step,
    index: retriever.version,
    tokens: tokenizer.fingerprint,
    env,
    search,
    reward,
  };
  const text = JSON.stringify({ ...parts, rollout, context: model.contextTokens, asked });
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

function recorded(config: Config, { step }: OpenPolicy, folder: string): number {
  const { benchmarks, modes } = config.eval;
  const files = benchmarks.flatMap(({ name }) =>
    modes.map((mode) => join(evalFolder(folder, name, step, mode), "records.jsonl")),
  );
  return files.reduce((n, file) => n + readRecords(file).records.filter(({ valid }) => valid).length, 0);
}
