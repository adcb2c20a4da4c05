import { loadConfig } from "../configs/load-config.ts";
import { ConfigError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { seedOf } from "../core/rng.ts";
import type { Task } from "../datasets/task.ts";
import type { RollRequest } from "../eval/evaluate.ts";
import { recordOf } from "../eval/record.ts";
import { scoreAll } from "../reward/score-all.ts";
import { renderTrajectory } from "../rollout/print.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { checkOutFile } from "./check-out.ts";
import { defineCommand } from "./command.ts";
import { colorful, isRight, isScored, oneLine, type Played, verdict } from "./episode-words.ts";
import { type OpenPolicy, tellStart } from "./open-policy.ts";
import type { Output } from "./output.ts";
import { checkPolicyArguments, openNamedPolicy, withPolicy } from "./policy-options.ts";
import { checkCount, questionById, type Split, splitOf } from "./questions.ts";
import { openSetup, type Setup } from "./setup.ts";
import { withConfig } from "./with-config.ts";

export const command = defineCommand({
  positionals: "<config> [overrides..]",
  examples: [
    [
      "forager rollout runs/quickstart/config.yaml --policy runs/quickstart --print",
      "read four episodes of a run",
    ],
    [
      "forager rollout my.yaml --policy runs/my --split train --n 500 --mode sampled --only right --out right.jsonl",
      "keep a policy's own correct episodes, for sft.source: { kind: trajectories, path: right.jsonl }",
    ],
  ],
  builder: (yargs) =>
    withPolicy(withConfig(yargs))
      .option("n", { type: "number", default: 4, describe: "questions to play" })
      .option("samples", { type: "number", default: 1, describe: "episodes of each question" })
      .option("mode", {
        choices: ["greedy", "sampled"] as const,
        describe: "how tokens are chosen; default: greedy, or sampled with --samples above 1",
      })
      .option("split", {
        type: "string",
        describe: "`train`, or a benchmark's name; default: the first benchmark",
      })
      .option("question", { type: "string", describe: "play this question alone, named by its id" })
      .option("only", { choices: ["right", "wrong"] as const, describe: "show and write these alone" })
      .option("print", { type: "boolean", default: false, describe: "print every episode whole" })
      .option("out", {
        type: "string",
        describe: "JSONL file to write, for `forager score` and for sft.source of kind trajectories",
      }),
  async run(args, output, signal, extensions) {
    const { n, samples, mode = samples > 1 ? "sampled" : "greedy", split, question, only, out } = args;
    checkCount("n", n);
    checkCount("samples", samples, 1024);
    if (mode === "greedy" && samples > 1)
      throw new ConfigError({
        what: "greedy episodes of one question are all the same",
        got: `--samples ${samples}`,
        next: "Leave --samples out, or give --mode sampled.",
      });
    const { config } = loadConfig(args.config, args.overrides);
    checkPolicyArguments(args, extensions);
    if (out !== undefined) checkOutFile(out);
    if (args.endpoint === undefined) tellStart(args.config, args.policy, output);
    const setup = await openSetup(config, { output, signal, extensions });
    try {
      const chosen =
        question === undefined ? { split: splitOf(setup, split) } : questionById(setup, question, split);
      const tasks = "task" in chosen ? [chosen.task] : chosen.split.first(n);
      if (tasks.length < n && !("task" in chosen))
        output.line(`${chosen.split.name} has ${tasks.length} questions: all are played`);
      const policy = await openNamedPolicy(args, setup, { output, signal, extensions });
      try {
        output.line(`policy ${policy.label}`);
        const request = {
          ...requestOf(setup, chosen.split, mode),
          groupSize: samples,
          minMembers: 1,
          signal,
        };
        const played: Played[] = [];
        for await (const each of episodes(setup, policy, tasks, request, output)) {
          if (only !== undefined && (!isScored(each) || isRight(each) !== (only === "right"))) continue;
          played.push(each);
          show(each, args.print, output);
        }
        if (out !== undefined) write(out, played, output);
        finish(played, out, output);
      } finally {
        await policy.close();
      }
    } finally {
      await setup.close();
    }
  },
});

/** Decoding and seeds: of a benchmark those of `forager eval`, so that these are the episodes it measures. */
function requestOf({ config, benchmarks }: Setup, split: Split, mode: "greedy" | "sampled"): RollRequest {
  const card = split.benchmark ? benchmarks.find(({ name }) => name === split.name)?.card : undefined;
  const { temperature, topP, topK } = card ?? config.rollout;
  const seed = card ? seedOf(card.seed, "eval", split.name) : config.run.seed;
  const decoding = mode === "greedy" ? { temperature: 0, topP: 1, topK: 0 } : { temperature, topP, topK };
  return { seed, step: 0, decoding, groupSize: 1, minMembers: 1 };
}

/** Plays as many questions together as the policy takes rows, in order. */
async function* episodes(
  setup: Setup,
  policy: OpenPolicy,
  tasks: readonly Task[],
  request: RollRequest,
  output: Output,
): AsyncGenerator<Played> {
  const size = Math.max(1, Math.floor(setup.config.rollout.maxRows / request.groupSize));
  const bar = output.progress("playing", tasks.length * request.groupSize);
  for (let from = 0; from < tasks.length; from += size) {
    const some = tasks.slice(from, from + size);
    request.signal?.throwIfAborted();
    const rolled = await policy.roll(some, { ...request, onEpisode: () => bar.tick() });
    request.signal?.throwIfAborted();
    if (from + size >= tasks.length) bar.done();
    const places = new Map(some.map((task, place) => [task, place]));
    const all: Trajectory[] = [
      ...[...rolled.groups, ...rolled.tooFew].flatMap(({ members }) => members),
      ...rolled.leftOut,
    ];
    const place = ({ task }: Trajectory) => places.get(task) ?? 0;
    all.sort((a, b) => place(a) - place(b) || a.member - b.member);
    yield* await scoreAll(setup.score, all, request.signal);
  }
}

function show(played: Played, whole: boolean, output: Output): void {
  const color = colorful(output);
  if (whole) output.print(`\n${renderTrajectory(played, { color })}\n${verdict(played, color)}`);
  else output.line(oneLine(played));
  output.event("episode", lineOf(played));
}

/** A line of the file: an evaluation's record with the reward's parts. */
const lineOf = (played: Played) => {
  const { place: _place, ...record } = recordOf(played, 0);
  return { ...record, ...(isScored(played) ? { parts: played.parts } : {}) };
};

/** Episodes that infrastructure broke are no episodes of the policy: left out, and counted aloud. */
function write(out: string, played: readonly Played[], output: Output): void {
  const kept = played.filter(isScored);
  writeFileAtomic(out, kept.map((each) => `${JSON.stringify(lineOf(each))}\n`).join(""));
  if (kept.length < played.length)
    output.warn(`${played.length - kept.length} failed episodes are not in ${out}`);
}

function finish(played: readonly Played[], out: string | undefined, output: Output): void {
  const scored = played.filter(isScored);
  const mean = (value: (each: (typeof scored)[number]) => number) =>
    scored.length === 0 ? 0 : scored.reduce((sum, each) => sum + value(each), 0) / scored.length;
  const em = mean((each) => each.parts.exactMatch ?? 0);
  const reward = mean((each) => each.reward);
  const outcomes: Record<string, number> = {};
  for (const { outcome } of played) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const ends = Object.entries(outcomes).map(([name, count]) => `${name} ${count}`);
  output.line();
  output.line(
    scored.length === 0
      ? `no episodes${ends.length > 0 ? `: ${ends.join(", ")}` : ""}`
      : `${scored.length} episode${scored.length === 1 ? "" : "s"}  EM ${em.toFixed(3)}  reward ${reward.toFixed(3)}  ${ends.join(", ")}`,
  );
  if (out !== undefined) output.line(`${out}: score it with \`forager score ${out}\``);
  const failed = played.length - scored.length;
  output.result({ n: scored.length, em, reward, failed, outcomes, ...(out === undefined ? {} : { out }) });
}
