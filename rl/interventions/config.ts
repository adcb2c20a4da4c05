import { z } from "zod";

const positive = z.number().positive();

const cooldown = (steps: number) =>
  z.int().min(1).default(steps).describe("Steps after it acted in which it cannot act again.");

const rearm = z
  .number()
  .gt(0)
  .lt(1)
  .default(0.5)
  .describe(
    "Hysteresis: share of the thresholds below which the signal must have come before the rule can act again.",
  );

const processWeight = z
  .strictObject({
    when: z
      .strictObject({
        evaluations: z
          .int()
          .min(1)
          .default(2)
          .describe("Evaluations back that an evaluation is compared with."),
        window: z
          .int()
          .min(1)
          .default(5)
          .describe("Steps up to an evaluation whose mean reward stands for it."),
        rewardRise: positive.default(0.05).describe("Least rise of the mean reward since then."),
        emFall: positive
          .default(0.03)
          .describe(
            "Least fall of exact match on the first benchmark since then, greedy where there is a choice.",
          ),
        rearm,
      })
      .prefault({})
      .describe("Mean reward rises while held-out exact match falls."),
    act: z
      .strictObject({
        parts: z
          .array(z.string().min(1))
          .min(1)
          .default(["process", "teamProcess"])
          .describe("Reward parts whose weight is lowered; those the reward lacks are passed over."),
        weightFactor: z.number().min(0).max(1).default(0.5).describe("Their weight is multiplied by this."),
        harder: z
          .number()
          .min(0)
          .max(1)
          .default(0.25)
          .describe("Share of the questions, added to what earlier ones added, taken from the hardest."),
        maxHarder: z.number().min(0).max(1).default(0.75).describe("Most that these shares come to."),
      })
      .prefault({})
      .describe("More hard questions, and less weight on the process."),
    cooldownSteps: cooldown(20),
  })
  .describe("The reward is being won by something that is not the answer.");

const stableRestart = z
  .strictObject({
    when: z
      .strictObject({
        metric: z
          .string()
          .min(1)
          .default("invalid_frac")
          .describe("Step metric that counts format failures, between 0 and 1."),
        window: z.int().min(1).default(2).describe("Latest steps whose mean is looked at."),
        baseline: z.int().min(1).default(10).describe("Steps before them that it is compared with."),
        rise: positive.default(0.2).describe("Least rise over the mean of those."),
        atLeast: positive.default(0.3).describe("Least level."),
        stableSteps: z
          .int()
          .min(1)
          .default(3)
          .describe("Quiet steps that must have followed a checkpoint before it counts as stable."),
        rearm,
      })
      .prefault({})
      .describe("Format failures jump."),
    act: z
      .strictObject({
        learningRate: positive
          .optional()
          .describe("Learning rate from then on, at most. Default with the preset o-researcher: 5e-7."),
        learningRateFactor: z
          .number()
          .gt(0)
          .max(1)
          .optional()
          .describe(
            "The learning rate is multiplied by this at each restart. Default: 0.5; with a rate above: 1.",
          ),
        minLearningRate: z.number().min(0).default(0).describe("It is never lowered below this."),
        maxRestarts: z.int().min(1).default(3).describe("Most restarts of a run; after them it only warns."),
      })
      .prefault({})
      .describe("Weights and optimiser of the last stable checkpoint, and a lower learning rate."),
    cooldownSteps: cooldown(10),
  })
  .describe("The policy has lost the protocol: go back to where it had it, and go slower.");

const freezeRoles = z
  .strictObject({
    when: z
      .strictObject({
        window: z.int().min(1).default(3).describe("Latest steps whose means are looked at."),
        similarity: positive
          .max(1)
          .default(0.6)
          .describe("Least mean similarity of two roles' texts (roles/similarity)."),
        lengthRatio: positive
          .max(1)
          .default(0.8)
          .describe("Least mean ratio of their lengths, the shorter over the longer (roles/length_ratio)."),
        rearm: rearm.default(0.8),
      })
      .prefault({})
      .describe("What the roles write becomes alike, in words and in length."),
    act: z
      .strictObject({
        learn: z
          .array(z.string().min(1))
          .min(1)
          .default(["analyst", "verifier"])
          .describe("Roles that go on learning; the tokens of all others are in no loss meanwhile."),
        steps: z.int().min(1).default(5).describe("Steps for which the others are frozen."),
      })
      .prefault({})
      .describe("The planner and the others stand still until the roles differ again."),
    cooldownSteps: cooldown(10),
  })
  .refine(({ act, cooldownSteps }) => cooldownSteps >= act.steps, {
    path: ["cooldownSteps"],
    message: "at least act.steps: roles are not frozen anew while they are frozen",
  })
  .describe("The roles collapse into one voice.");

/** Section `rl.interventions`: what a run does by itself when it sees a collapse begin. A rule that is not named is off. */
export const interventionsConfig = z.strictObject({
  processWeight: processWeight.optional(),
  stableRestart: stableRestart.optional(),
  freezeRoles: freezeRoles.optional(),
});
export type InterventionsConfig = z.infer<typeof interventionsConfig>;
export type RuleName = keyof InterventionsConfig;
