import { z } from "zod";
import { judgeConfig } from "../judge-config.ts";
import { auditRubric } from "./audit-prompt.ts";
import { teamProcessNames } from "./parts.ts";

/** Section `reward.team`: the parts that only a team can give. */
export const teamRewardConfig = z.strictObject({
  process: z
    .strictObject({
      of: z
        .array(z.enum(teamProcessNames))
        .min(1)
        .default([...teamProcessNames])
        .describe("Parts whose mean `teamProcess` is, over those that the episode put to the test."),
    })
    .prefault({})
    .describe("The part `teamProcess`."),
  revisions: z
    .strictObject({
      free: z.int().min(0).default(1).describe("Revisions that cost nothing."),
      cost: z
        .number()
        .min(0)
        .max(1)
        .default(0.25)
        .describe("What each further one takes from 1; never below 0."),
    })
    .prefault({})
    .describe("The part `fewRevisions`."),
  samePlan: z
    .strictObject({
      decay: z
        .number()
        .min(0)
        .max(1)
        .default(0.5)
        .describe("Factor on `teamProcess` for each rejection of a plan that was rejected before; 1 is off."),
    })
    .prefault({})
    .describe("The part `freshPlan`."),
  lengthEntropy: z
    .number()
    .min(0)
    .default(0)
    .describe(
      "Weight λ of the entropy penalty on the length of the team's outputs: λ · (1 − H/ln 8) is taken from the rewards of a batch on the mean, H the entropy of a role's lengths in half octaves; from each episode according to how common its own lengths are. 0 is off.",
    ),
});

const actions = ["log", "penalise", "drop"] as const;
export type HackAction = (typeof actions)[number];

const rule = (threshold: number) => ({
  threshold: z
    .number()
    .min(0)
    .max(1)
    .default(threshold)
    .describe("Share of a batch from which the rule acts; 0 acts on every episode that shows the sign."),
  action: z
    .enum(actions)
    .default("log")
    .describe(
      "log: metrics and an event; penalise: also `penalty` off the reward of the episodes concerned, in proportion to the sign; drop: they leave their group, as if infrastructure had ended them.",
    ),
  penalty: z.number().min(0).default(0.1).describe("What `penalise` takes from the reward at the full sign."),
});

/** Section `reward.hacks`: which ways to cheat are looked for in a team's training episodes. What is not named is off. */
export const hacksConfig = z.strictObject({
  formatDrift: z
    .strictObject(rule(0.2))
    .optional()
    .describe("Messages that are well formed and say nothing."),
  rubberStamp: z
    .strictObject(rule(0.5))
    .optional()
    .describe("The verifier passes wrong drafts, or passes without a check."),
  unconditionalRejection: z
    .strictObject(rule(0.5))
    .optional()
    .describe("The verifier rejects to the last round, or rejects right drafts."),
  overSearching: z
    .strictObject({
      ...rule(0.3),
      perStep: z.number().min(0).default(1).describe("Searches that a step of the path may take in a round."),
      budget: z
        .int()
        .min(1)
        .optional()
        .describe("Searches of an episode that saturate its budget: as many or more are the full sign."),
    })
    .optional()
    .describe("Searches beyond what the path needs, repeated queries, a budget used up."),
  answerStuffing: z
    .strictObject({
      ...rule(0.2),
      maxWords: z.int().min(1).default(10).describe("Longest answer in words that is not suspicious."),
    })
    .optional()
    .describe("A wrong answer that lists candidates, or holds the right one among others."),
});
export type HacksConfig = z.infer<typeof hacksConfig>;
export type HackName = keyof HacksConfig;

/** Section `reward.audit`: a judge looks at some training episodes of a team. What it finds is reported, never rewarded. */
export const auditConfig = judgeConfig.omit({ sees: true, marks: true }).extend({
  share: z.number().gt(0).max(1).default(0.05).describe("Share of a step's episodes that is audited."),
  rubric: z
    .string()
    .min(1)
    .default(auditRubric)
    .describe("What the auditor is told beside each of its questions, in plain words."),
  cache: z
    .string()
    .min(1)
    .optional()
    .describe("JSONL file that keeps its findings by content. Default: audit.jsonl in the run folder."),
});
export type AuditConfig = z.infer<typeof auditConfig>;
