import { z } from "zod";

/** What a judge is told to look for, unless the YAML says otherwise. */
export const defaultRubric =
  "Is the answer right? Full marks when it means the same as one of the reference answers, whatever the wording; none when it contradicts them, names several candidates, or does not answer the question.";

/** Section `reward.judge`: a language model that marks answers, behind any OpenAI-compatible chat API. */
export const judgeConfig = z.strictObject({
  url: z
    .string()
    .regex(/^https?:\/\/[^\s/]+/u, "the address of a server: http://host:port")
    .describe("Address of the server, with or without /v1."),
  model: z.string().min(1).describe("Name of the model there."),
  apiKeyEnv: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_]*$/u,
      "the name of an environment variable that holds the key, never the key",
    )
    .optional()
    .describe("Name of the environment variable that holds the server's key. Default: no key is sent."),
  rubric: z.string().min(1).default(defaultRubric).describe("What earns marks, in plain words."),
  marks: z
    .int()
    .min(1)
    .max(100)
    .default(10)
    .describe("Highest mark, whole numbers from 0; the part `judge` is the mark divided by it."),
  sees: z
    .enum(["answer", "episode"])
    .default("answer")
    .describe(
      "answer: question, reference answers and the judged answer; episode: also what was written and found.",
    ),
  temperature: z.number().min(0).max(2).default(0).describe("Sampling temperature of the judge."),
  maxTokens: z.int().min(16).default(512).describe("Most tokens of one verdict."),
  maxRequests: z
    .int()
    .min(1)
    .default(100_000)
    .describe(
      "Requests that one process may make, retries included; past it the run stops. What is in the cache costs none.",
    ),
  cache: z
    .string()
    .min(1)
    .optional()
    .describe(
      "JSONL file that keeps verdicts by content, relative to the working directory. Default: judge.jsonl in the run folder.",
    ),
  attempts: z.int().min(1).default(4).describe("Most attempts of one verdict."),
  retryDelayMs: z
    .int()
    .min(0)
    .default(500)
    .describe("Pause before the first retry in milliseconds; doubled with each, 30 s at most."),
  requestTimeoutMs: z
    .int()
    .min(0)
    .default(120_000)
    .describe("Longest one attempt may take in milliseconds; 0 is no limit."),
  concurrency: z.int().min(1).default(16).describe("Requests at a time."),
});

export type JudgeConfig = z.infer<typeof judgeConfig>;
