import { z } from "zod";
import { passageFormats } from "./passages.ts";
import { teamConfig } from "./team/config.ts";

/** Section `env`: how an episode is played. */
export const envConfig = z.strictObject({
  name: z
    .string()
    .min(1)
    .default("researcher")
    .describe(
      "Which environment: researcher, team (roles that plan, draft and verify together, see `team`), agent (an agent of your own, see `command`), or one of your own given to defineForager.",
    ),
  command: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      "With `name: agent`: the program that is the agent, with its arguments, e.g. [node, agent.mjs]; run in the working directory, without a shell.",
    ),
  agent: z
    .string()
    .min(1)
    .optional()
    .describe("With `name: agent`, instead of `command`: an agent given to defineForager, by its name."),
  maxTurns: z
    .int()
    .min(1)
    .max(1000)
    .default(4)
    .describe("Most policy turns in an episode. A search in the last turn is not run: turn_limit."),
  turnTokens: z
    .int()
    .min(1)
    .default(500)
    .describe("Most tokens the policy may write in one turn. With an agent: in a call that names no limit."),
  observationTokens: z
    .int()
    .min(8)
    .default(500)
    .describe(
      "Budget of one observation in tokens, its tags included. The passages are cut, the tags never.",
    ),
  topK: z.int().min(1).max(100).default(3).describe("Passages shown for a search."),
  shuffle: z
    .boolean()
    .default(false)
    .describe(
      "Show the passages in random order, so that rank gives nothing away. The same for one query of one question.",
    ),
  passageFormat: z
    .enum(Object.keys(passageFormats) as [keyof typeof passageFormats, ...(keyof typeof passageFormats)[]])
    .default("searchR1")
    .describe("plain: the text alone; searchR1: Doc 1(Title: …) text."),
  observationOpen: z
    .string()
    .default("\n\n<information>")
    .describe("What stands before the passages of an observation."),
  observationClose: z
    .string()
    .default("</information>\n\n")
    .describe("What stands after the passages of an observation."),
  noResults: z
    .string()
    .default("No results.")
    .describe("Shown when a search finds nothing. An error of the search engine is never shown as this."),
  maxInvalid: z
    .int()
    .min(0)
    .default(2)
    .describe("Invalid actions that are answered with a correction; one more ends the episode: invalid."),
  noAction: z
    .enum(["end", "correct"])
    .default("end")
    .describe(
      "Text that ends without any action. end: the episode is over (no_answer); correct: an invalid action.",
    ),
  correction: z
    .string()
    .optional()
    .describe(
      "One text for every invalid action instead of our own, for models of another language or vocabulary.",
    ),
  team: teamConfig.optional().describe("With `name: team`: its roles and rounds."),
});

export type EnvConfig = z.infer<typeof envConfig>;
