import { z } from "zod";
import { nearest } from "../core/nearest.ts";

const untilConfig = z
  .strictObject({
    step: z.int().min(1).optional().describe("The stage ends when this many steps are done."),
    metric: z
      .string()
      .min(1)
      .optional()
      .describe("The stage ends when this metric of a step, such as em, is on the other side of a limit."),
    above: z.number().optional().describe("The metric is to be above this."),
    below: z.number().optional().describe("The metric is to be below this."),
    for: z.int().min(1).default(1).describe("Steps in a row on which it is to hold."),
  })
  .superRefine(({ step, metric, above, below }, context) => {
    const complain = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if ((step === undefined) === (metric === undefined))
      complain("step", "expected exactly one of `step` and `metric`");
    if (metric !== undefined && (above === undefined) === (below === undefined))
      complain("above", "expected exactly one of `above` and `below`");
    if (metric === undefined && (above ?? below) !== undefined)
      complain("metric", "a limit needs the metric that it is of");
  });

const stageConfig = z.strictObject({
  learn: z
    .array(z.string().min(1))
    .min(1)
    .describe(
      "Adapters that learn. All others get no update at all: weights and optimiser stay as they are.",
    ),
  until: untilConfig.optional().describe("When the next stage begins; the last one has no end."),
});
export type StageConfig = z.infer<typeof stageConfig>;

/** Section `rl.team`: how the seats of one environment learn together. */
export const teamLearningConfig = z.strictObject({
  equalise: z
    .enum(["none", "weight", "sample"])
    .default("none")
    .describe(
      "Unequal numbers of calls of the roles in a step. weight: a call's tokens weigh (mean calls of a role) / (calls of its role); sample: each role keeps a random choice of its calls, as many as the role with the fewest has.",
    ),
  shaping: z
    .record(z.string(), z.number().min(0))
    .default({})
    .describe("What the advantage of a role's tokens is multiplied by, e.g. verifier: 0.5; 1 unless named."),
  stages: z
    .array(stageConfig)
    .default([])
    .superRefine((stages, context) => {
      stages.slice(0, -1).forEach(({ until }, i) => {
        if (until === undefined)
          context.addIssue({
            code: "custom",
            path: [i, "until"],
            message: "a stage without an end is never followed by the next one",
          });
      });
    })
    .describe("Which adapters learn, stage after stage. Without stages all learn."),
});
export type TeamLearningConfig = z.infer<typeof teamLearningConfig>;

/** What is wrong with the names that the section uses; undefined when nothing is. */
export function unknownName(
  { shaping, stages }: TeamLearningConfig,
  known: { readonly seats: readonly string[]; readonly adapters: readonly string[] },
): string | undefined {
  const { seats, adapters } = known;
  const seat = Object.keys(shaping).find((name) => !seats.includes(name));
  if (seat !== undefined)
    return `shaping names the role \`${seat}\`, which nobody plays: ${suggest(seat, seats)}`;
  const adapter = stages.flatMap(({ learn }) => learn).find((name) => !adapters.includes(name));
  if (adapter === undefined) return undefined;
  const own = seats.includes(adapter)
    ? `give that role an adapter of its own with env.team.roles.${adapter}.adapter, or name ${list(adapters)}`
    : suggest(adapter, adapters);
  return `stages name the adapter \`${adapter}\`, by which no role plays: ${own}`;
}

function suggest(name: string, names: readonly string[]): string {
  const close = nearest(name, names);
  return close === undefined ? `name ${list(names)}` : `did you mean \`${close}\`?`;
}

const list = (names: readonly string[]) => (names.length === 0 ? "none" : names.join(", "));
