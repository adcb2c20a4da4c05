import { createHash } from "node:crypto";
import { join } from "node:path";
import { loadConfig } from "../configs/load-config.ts";
import { printConfig } from "../configs/print.ts";
import type { Config } from "../configs/schema.ts";
import { csvTable } from "../core/csv.ts";
import { ConfigError, ForagerError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import type { EvalResult } from "../eval/evaluate.ts";
import { readRecords } from "../eval/record-file.ts";
import { type SearchCondition, type SearchValue, searchValue } from "../eval/search-value.ts";
import { searchValueCells, showSearchValue } from "../eval/search-value-table.ts";
import { resultLine } from "../eval/table.ts";
import { evalFolder } from "../track/run-folder.ts";
import { hasAgent } from "./agents.ts";
import { checkOutFolder } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { fingerprint } from "./eval.ts";
import type { OpenPolicy } from "./open-policy.ts";
import type { Output } from "./output.ts";
import { checkPolicyArguments, openNamedPolicy, withPolicy } from "./policy-options.ts";
import {
  type Condition,
  conditionRows,
  conditionsOf,
  mostSearches,
  referenceName,
} from "./search-conditions.ts";
import { openStage, type Stage } from "./search-stage.ts";
import { openSetup } from "./setup.ts";
import { withConfig } from "./with-config.ts";

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    [
      "forager search-value runs/quickstart/config.yaml --policy runs/quickstart",
      "a run's last policy without search, with an oracle, and with 0, 1, 2 … searches",
    ],
    [
      "forager search-value my.yaml --retrievers empty,oracle --budgets 1 eval.modes=[greedy]",
      "some of it, greedy alone",
    ],
  ],
  builder: (yargs) =>
    withPolicy(withConfig(yargs))
      .option("retrievers", {
        type: "string",
        describe: `what answers in place of the engine: ${Object.keys(conditionRows).join(",")}; default: all that the data allow`,
      })
      .option("budgets", {
        type: "string",
        describe:
          "searches answered before nothing is found, such as 0,1,2; default: 0 to as many as there is room for",
      })
      .option("offPrompt", {
        type: "string",
        describe:
          "system message in place of the config's where search is off, for models that are told of it",
      })
      .option("out", {
        type: "string",
        describe: "folder for records and results; default: evals/search-value-NAME-HASH",
      })
      .option("markdown", { type: "boolean", default: false, describe: "Markdown in place of plain text" }),
  async run(args, output, signal, extensions) {
    const { config, stated } = loadConfig(args.config, args.overrides);
    checkArguments(config, args);
    checkPolicyArguments(args, extensions);
    const retrievers = args.retrievers?.split(",") ?? Object.keys(conditionRows);
    const conditions = conditionsOf(config, { retrievers, budgets: args.budgets?.split(",") });
    if (args.out !== undefined) checkOutFolder(args.out);
    // The engine itself: what stands in for it is put on the stage, condition by condition.
    const plain = (conditions.at(-1) as Condition).config;
    const setup = await openSetup(plain, { output, signal, extensions });
    try {
      const stage = await openStage(setup, {
        conditions,
        strict: args.retrievers !== undefined,
        offPrompt: args.offPrompt,
        output,
      });
      const policy = await openNamedPolicy(args, stage.setup, { output, signal, extensions });
      try {
        const hash = fingerprint(setup, policy);
        const folder = args.out ?? join("evals", `search-value-${policy.name}-${hash}`);
        checkOutFolder(folder);
        output.line(`policy ${policy.label}`);
        output.line(`records in ${folder}`);
        const measured = await measure(stage, policy, { ...args, folder, output, signal });
        writeFileAtomic(join(folder, "config.yaml"), printConfig(config, stated));
        const values = valuesOf(measured, plain.reward.normalizer, mostSearches(config));
        write(folder, policy.label, values);
        for (const { title, value } of values)
          output.print(`\n${showSearchValue(title, value, args.markdown)}`);
        output.result({ out: folder, policy: policy.label, step: policy.step, values });
      } finally {
        await policy.close();
      }
    } finally {
      await setup.close();
    }
  },
});

function checkArguments(
  config: Config,
  args: { readonly offPrompt: string | undefined; readonly chat: boolean },
): void {
  if (config.eval.benchmarks.length === 0)
    throw new ConfigError({
      what: "the config names no benchmark to evaluate on",
      where: "eval.benchmarks",
      expected: "one or more",
      next: "Add one: eval: { benchmarks: [{ name: dev, source: { kind: jsonl, path: dev.jsonl } }] }",
    });
  if (hasAgent(config))
    throw new ConfigError({
      what: "an agent searches by itself, so its searches cannot be answered otherwise",
      where: "env.name",
      next: "Name an environment that searches with `search`.",
    });
  if (args.offPrompt !== undefined && args.chat)
    throw new ConfigError({
      what: "--off-prompt changes a prompt that is rendered here, and --chat leaves that to the server",
      next: "Leave one of them out.",
    });
}

/** Every condition on every benchmark, in every mode. @throws ForagerError when infrastructure broke too much of one */
async function measure(
  stage: Stage,
  policy: OpenPolicy,
  o: {
    readonly folder: string;
    readonly offPrompt: string | undefined;
    readonly output: Output;
    readonly signal: AbortSignal;
  },
): Promise<Measured[]> {
  const { output, signal, offPrompt } = o;
  const measured: Measured[] = [];
  for (const condition of stage.conditions) {
    signal.throwIfAborted();
    const { name } = condition;
    const own = name === "off" && offPrompt !== undefined ? `off-${shortHash(offPrompt)}` : name;
    const folder = join(o.folder, own);
    output.line(`searches answered by ${name}`);
    const results = await stage.evaluate(condition, {
      ...policy,
      ...{ folder, output, signal },
      onResult(result) {
        output.line(resultLine(result));
        output.event("eval", { condition: name, ...result });
      },
    });
    checkValid(results, condition);
    measured.push(...results.map((result) => ({ condition, result, folder })));
  }
  return measured;
}

interface Measured {
  readonly condition: Condition;
  readonly result: EvalResult;
  readonly folder: string;
}

interface Named {
  readonly title: string;
  readonly benchmark: string;
  readonly mode: string;
  readonly value: SearchValue;
}

function checkValid(results: readonly EvalResult[], { name }: Condition): void {
  const broken = results.find(({ valid }) => !valid);
  if (broken)
    throw new ForagerError({
      what: `the evaluation of ${broken.benchmark}, ${broken.mode} with ${name} does not count`,
      got: `${broken.infra} episodes failed, most by ${broken.failure ?? "an unknown cause"}`,
      next: "Mend the cause and run the same command again: only the failed part is played again.",
    });
}

const shortHash = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 8);

/** One value of search for each benchmark and mode. */
function valuesOf(measured: readonly Measured[], normalizer: string, most: number): Named[] {
  const references = measured.filter(({ condition }) => condition.name === referenceName);
  return references.map((reference) => {
    const { benchmark, mode, step } = reference.result;
    const read = ({ condition, folder }: Measured): SearchCondition => ({
      name: condition.name,
      ...(condition.budget === undefined ? {} : { budget: condition.budget }),
      records: readRecords(join(evalFolder(folder, benchmark, step, mode), "records.jsonl")).records,
    });
    const others = measured.filter(
      (each) =>
        each.condition.name !== referenceName &&
        each.result.benchmark === benchmark &&
        each.result.mode === mode,
    );
    const value = searchValue(read(reference), others.map(read), { most, normalizer });
    return { title: `${benchmark}, ${mode}, step ${step}`, benchmark, mode, value };
  });
}

function write(folder: string, policy: string, values: readonly Named[]): void {
  const put = (name: string, text: string) => writeFileAtomic(join(folder, name), text);
  put("search-value.json", `${JSON.stringify({ policy, values }, null, 2)}\n`);
  const shown = values.map(({ title, value }) => showSearchValue(title, value, true));
  put("search-value.md", `## The value of search\n\npolicy ${policy}\n\n${shown.join("\n\n")}\n`);
  const rows = values.flatMap(({ benchmark, mode, value }) => {
    const [head = [], ...body] = searchValueCells(value);
    return [["benchmark", "mode", ...head], ...body.map((cells) => [benchmark, mode, ...cells])];
  });
  const [head = []] = rows;
  put("search-value.csv", csvTable([head, ...rows.filter(([first]) => first !== "benchmark")]));
}
