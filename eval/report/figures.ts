import type { RunNumbers } from "../../track/run-numbers.ts";
import { wilson } from "../wilson.ts";
import { type Measure, trainingCurves } from "./curves.ts";
import { answerFigures, hopsWord, searchPoints } from "./evaluation-figures.ts";
import type { Curve, Figure, GroupCount, Point } from "./report.ts";
import type { StoredEvaluation } from "./stored-evaluations.ts";
import { teamRows } from "./team-figures.ts";

/** One figure of training as a row: what it shows, and of which metrics. */
export interface FigureRow extends Pick<Figure, "id" | "section" | "title" | "caption"> {
  readonly range?: Figure["range"];
  readonly form?: Figure["form"];
  readonly measures: readonly Measure[];
}

const bands = "Bands are 95 % intervals with the question as the unit.";
const noBands = "Means over tokens or updates: runs store no spread of them, so there are no bands.";
const plain = (name: string, metric: string): Measure => ({ name, metric });

const rows: readonly FigureRow[] = [
  {
    id: "reward",
    section: "reward",
    title: "Reward",
    caption: `Mean reward of a step's episodes, the quantity that is optimised. ${bands}`,
    measures: [{ name: "reward", metric: "reward", of: ({ reward }) => reward }],
  },
  {
    id: "no-spread",
    section: "signal",
    title: "Groups without spread, by cause",
    caption:
      "Share of a step's groups whose members all got the same: nothing is learnt from them. Two members or more.",
    range: "share",
    form: "stack",
    measures: [
      plain("all right", "zero_std_frac_all_right"),
      plain("all wrong", "zero_std_frac_all_wrong"),
      plain("equal otherwise", "zero_std_frac_tie"),
    ],
  },
  {
    id: "policy-length",
    section: "behaviour",
    title: "Tokens the policy wrote",
    caption: `Policy tokens an episode, and of the episodes that were right. ${bands}`,
    measures: [
      { name: "all episodes", metric: "policy_tokens", of: ({ policyTokens }) => policyTokens },
      {
        name: "right ones",
        metric: "correct_policy_tokens",
        of: ({ parts, policyTokens }) => (parts.exactMatch === 1 ? policyTokens : undefined),
      },
    ],
  },
  {
    id: "episode-length",
    section: "behaviour",
    title: "Length of episodes",
    caption: `Tokens an episode with its prompt, and those of observations. ${bands}`,
    measures: [
      { name: "whole episode", metric: "total_tokens", of: ({ totalTokens }) => totalTokens },
      plain("observations", "observation_tokens"),
    ],
  },
  {
    id: "turns",
    section: "behaviour",
    title: "Turns and searches",
    caption: `Of each episode in training. ${bands}`,
    measures: [
      { name: "turns", metric: "turns", of: ({ turns }) => turns },
      { name: "searches", metric: "searches", of: ({ searches }) => searches },
    ],
  },
  {
    id: "entropy",
    section: "behaviour",
    title: "Entropy",
    caption: `Nats a token, of all policy tokens and by where they stand. ${noBands}`,
    measures: [
      plain("all", "entropy"),
      plain("thoughts", "entropy_think"),
      plain("queries", "entropy_query"),
      plain("answers", "entropy_answer"),
    ],
  },
  {
    id: "gradient",
    section: "optimiser",
    title: "Gradient norm",
    caption: `Before clipping. ${noBands}`,
    measures: [plain("gradient norm", "grad_norm")],
  },
  {
    id: "kl",
    section: "optimiser",
    title: "KL to the policy that sampled",
    caption: `k3 estimate in nats a token; 0 with one update a step. ${noBands}`,
    measures: [plain("KL", "approx_kl"), plain("to the policy as RL began", "kl_ref")],
  },
  {
    id: "mismatch",
    section: "optimiser",
    title: "Sampler against trainer",
    caption: `|Δ logprob| of the sampled tokens, recorded against recomputed. ${noBands}`,
    measures: [plain("mean", "mismatch/mean_abs"), plain("99th percentile", "mismatch/p99_abs")],
  },
];

/** Every figure of a run, in the order of the sections; those that nothing was recorded for are left out. */
export function runFigures(run: RunNumbers, evaluations: readonly StoredEvaluation[]): Figure[] {
  const rl = run.steps.filter(({ phase }) => phase === "rl");
  const names = [...new Set(rl.flatMap(({ metrics }) => Object.keys(metrics)))].sort();
  const after = (prefix: string) => names.filter((name) => name.startsWith(prefix));
  const parts = after("reward/").map((metric): Measure & { part: string } => {
    const part = metric.slice("reward/".length);
    return { name: part, metric, part, of: (episode) => episode.parts[part] };
  });
  const hops = (prefix: string, of: NonNullable<Measure["of"]>) =>
    after(prefix).map((metric): Measure => {
      const own = metric.slice(prefix.length);
      return {
        ...{ name: hopsWord(own), metric },
        of: (episode) => (String(episode.hops) === own ? of(episode) : undefined),
      };
    });
  const emHops = hops("em/hops_", ({ parts }) => parts.exactMatch);
  const searchHops = hops("searches/hops_", ({ searches }) => searches);
  const em: Measure = { name: "training", metric: "em", of: (e) => e.parts.exactMatch };
  const drawn = [...rows, ...teamRows(names)];
  const curves = trainingCurves(run, [
    ...new Map(
      [em, ...drawn.flatMap(({ measures }) => measures), ...parts, ...emHops, ...searchHops].map((m) => [
        m.metric,
        m,
      ]),
    ).values(),
  ]);
  const of = (measures: readonly Measure[]) => measures.flatMap(({ metric }) => curves.get(metric) ?? []);
  const figures: Figure[] = [
    ...answerFigures(evaluations, { all: of([em]), byHops: of(emHops) }),
    ...drawn.map(
      ({ measures, ...row }): Figure => ({ range: "free", form: "curves", ...row, curves: of(measures) }),
    ),
    ...parts.map(
      (part, i): Figure => ({
        ...{ id: `part-${i}`, section: "reward", title: part.part, form: "curves" },
        ...{ range: "free", curves: of([part]) },
        caption: `Part of the reward, its raw value before weighting. ${bands}`,
      }),
    ),
    {
      ...{
        id: "searches-by-hops",
        section: "behaviour",
        title: "Searches by hops",
        form: "curves",
        range: "free",
      },
      caption:
        "Searches an episode. Lines: training. Points: evaluations. Bands and bars are 95 % intervals with the question as the unit.",
      curves: [...of(searchHops), ...searchPoints(evaluations)],
    },
    { ...outcomes(run, after("outcome/")) },
    {
      ...{ id: "warm-up", section: "warmUp", title: "Loss of the warm-up", form: "curves", range: "free" },
      caption: `Nats a token of the demonstrations. ${noBands}`,
      curves: warmUp(run),
    },
  ];
  return figures.filter(({ curves }) => curves.some(({ points }) => points.length > 0));
}

function outcomes(run: RunNumbers, metrics: readonly string[]): Figure {
  const rl = run.steps.filter(({ phase }) => phase === "rl");
  return {
    ...{ id: "outcomes", section: "behaviour", title: "How episodes ended", form: "stack", range: "share" },
    caption: "Share of a step's episodes, failures of infrastructure included.",
    curves: metrics.map((metric): Curve => {
      const points = rl.map(({ step, metrics: m }): Point => {
        const n = m.episodes ?? 0;
        return { step, value: n === 0 ? 0 : (m[metric] ?? 0) / n, n };
      });
      return { name: metric.slice("outcome/".length), kind: "line", points };
    }),
  };
}

function warmUp(run: RunNumbers): Curve[] {
  const points = run.steps.flatMap(({ phase, step, metrics }) =>
    phase === "sft" && metrics.loss !== undefined ? [{ step, value: metrics.loss }] : [],
  );
  return points.length === 0 ? [] : [{ name: "loss", kind: "line", points }];
}

/** In words, what became of a group; a verdict that is not here is shown as it is. */
const verdicts: Readonly<Record<string, string>> = {
  kept: "learnt from",
  surplus: "had signal, but the step had enough",
  allRight: "no spread: every answer right",
  allWrong: "no answer right",
  tie: "no spread for another reason",
  tooFew: "fewer than two members were left",
  stale: "sampled by a version that was too old",
  hack: "members that a hack detector took out of their group",
};

/** Over the whole run, in the order above. */
export function groupCounts({ verdicts: found }: Pick<RunNumbers, "verdicts">): GroupCount[] {
  const total = found.reduce((sum, { groups }) => sum + groups, 0);
  const order = [...Object.keys(verdicts), ...found.map(({ verdict }) => verdict)];
  return [...new Set(order)].flatMap((verdict) => {
    const groups = found.reduce((sum, row) => sum + (row.verdict === verdict ? row.groups : 0), 0);
    if (groups === 0) return [];
    const share = { n: total, em: groups / total, ...wilson(groups, total) };
    return [{ verdict, says: verdicts[verdict] ?? verdict, groups, share }];
  });
}
