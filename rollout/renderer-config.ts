import { z } from "zod";

/** A worked example must itself score 1 under the reward: one answer tag, outside <think>, with the gold answer. */
export const workedExample = {
  question: "Who directed the film that Anna Kern wrote?",
  completion:
    "<think> I need the film first. </think>\n<search> film written by Anna Kern </search>\n" +
    "<information> … Blue Harbour is a film written by Anna Kern and directed by Tom Vale … </information>\n" +
    "<think> The director is Tom Vale. </think>\n<answer> Tom Vale </answer>",
  answer: "Tom Vale",
} as const;

const defaultSystem = `Answer the question with the help of a search engine.
Think inside <think> and </think> first, and again after each new piece of information.
To search, write <search> your query </search>; results come back inside <information> and </information>. Search again if facts are missing.
When you know the answer, write it inside <answer> and </answer>: a few words, nothing else.

Example
Question: ${workedExample.question}
${workedExample.completion}`;

export const promptFormats = ["auto", "plain", "chat"] as const;

export const promptConfig = z.strictObject({
  format: z
    .enum(promptFormats)
    .default("auto")
    .describe(
      "plain: the template alone; chat: the model's chat template; auto: chat where the model has one.",
    ),
  template: z
    .string()
    .includes("{question}")
    .default("<question> {question} </question>")
    .describe("Whole prompt of the plain format. {question} is replaced; special tokens may be written out."),
  system: z
    .string()
    .default(defaultSystem)
    .describe("System message of the chat format; an empty text sends none."),
  user: z
    .string()
    .includes("{question}")
    .default("Question: {question}")
    .describe("User message of the chat format. {question} is replaced."),
  observation: z
    .enum(["inline", "user"])
    .default("inline")
    .describe("Where search results go in the chat format: into the assistant's own turn, or a user turn."),
});

export type PromptConfig = z.infer<typeof promptConfig>;
