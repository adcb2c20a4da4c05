import { z } from "zod";
import type { RoleName } from "./roles.ts";

/** Weights that every role plays by where nothing else is said. */
export const defaultAdapter = "team";

const adapterName = z
  .string()
  .regex(/^[a-z][a-z0-9-]*$/, "lower-case letters, digits and dashes, a letter first");

const roleConfig = z.strictObject({
  on: z.boolean().default(true).describe("false: the role is left out, and its work falls to others."),
  adapter: adapterName
    .default(defaultAdapter)
    .describe("Weights that the role plays by. Roles that name the same adapter share it."),
  plain: z
    .string()
    .includes("{question}")
    .optional()
    .describe("Its whole prompt in the plain format, in place of our own. {question} is replaced."),
  system: z.string().optional().describe("Its system message in the chat format, in place of our own."),
  player: z
    .discriminatedUnion("kind", [
      z
        .strictObject({ kind: z.literal("policy") })
        .describe("The policy of this run, with the role's adapter."),
      z
        .strictObject({ kind: z.literal("expert") })
        .describe(
          "The scripted demonstrator of the task's family: it makes no mistake, and nothing of it is trained on.",
        ),
      z.strictObject({
        kind: z.literal("endpoint"),
        url: z.url().describe("Address of an OpenAI-compatible server; chat completions are asked."),
        model: z.string().min(1).describe("Name of the model there."),
        maxTokens: z
          .int()
          .min(1)
          .default(1000)
          .describe("Most tokens of one of its turns, in its own counting: env.turnTokens is the policy's."),
        apiKeyEnv: z.string().min(1).optional().describe("Environment variable that holds the key."),
      }),
    ])
    .prefault({ kind: "policy" })
    .describe("Who plays the role."),
});
export type RoleConfig = z.infer<typeof roleConfig>;

const role = (duty: string) => roleConfig.prefault({}).describe(duty);

const rolesConfig = z
  .strictObject({
    planner: role(
      "Splits the question into a path and keeps what the answer must satisfy; alone may change the path.",
    ),
    analyst: role("Searches, and hands on the conditions. Without it the drafter searches."),
    drafter: role("Turns path and conditions into a draft."),
    verifier: role("Checks a draft forward and backward. Without it the first draft is final."),
    summarizer: role(
      "Gives the accepted draft's answer in its final form. Without it the draft is the answer.",
    ),
  } satisfies Record<RoleName, unknown>)
  .refine(({ drafter }) => drafter.on, {
    path: ["drafter"],
    message: "somebody has to write the answer: the drafter cannot be left out",
  });

/** Section `env.team`: how the team plays. */
export const teamConfig = z.strictObject({
  roles: rolesConfig.prefault({}).describe("The five roles."),
  maxRounds: z
    .int()
    .min(1)
    .max(100)
    .default(6)
    .describe("Most rounds. An episode that is not accepted by then ends, and its whole reward is 0."),
  feedback: z
    .boolean()
    .default(true)
    .describe("false: a static pipeline. One pass, and the verdict goes nowhere: the first draft is final."),
  callTurns: z
    .int()
    .min(1)
    .default(4)
    .describe("Most turns of one call of a role that may search, its message among them."),
  blackboardTokens: z
    .int()
    .min(16)
    .default(4000)
    .describe("Tokens that the task, the constraints, the path and the verdicts together should keep to."),
  workspaceTokens: z
    .int()
    .min(16)
    .default(6000)
    .describe("Tokens that the conversation of one role should keep to."),
  softRounds: z
    .int()
    .min(0)
    .default(3)
    .describe(
      "Rounds whose overruns are only counted; from then on the analyst compresses. Nothing is ever cut.",
    ),
  correction: z
    .string()
    .optional()
    .describe("One text for every message that breaks the protocol, in place of our own."),
});
export type TeamConfig = z.infer<typeof teamConfig>;
