import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { readJsonl } from "../core/jsonl.ts";
import { epochs } from "../datasets/batch.ts";
import type { Segment, Trajectory } from "../rollout/trajectory.ts";
import type { Demonstrate } from "./demonstrations.ts";
import type { Setup } from "./setup.ts";

const line = z.looseObject({
  id: z.union([z.string(), z.int()]).transform(String),
  question: z.string().optional(),
  segments: z
    .array(
      z.looseObject({ source: z.enum(["prompt", "policy", "observation", "injected"]), text: z.string() }),
    )
    .refine(
      (all) => all.some((s) => s.source === "policy" && s.text !== ""),
      "at least one policy segment with text",
    ),
});

/**
 * Trajectories from a JSONL file of `{ id, segments: [{ source, text }] }` (an evaluation's records.jsonl is one),
 * encoded segment by segment; the last policy segment ends the text. Drawn in keyed random order, endlessly.
 */
export async function storedTrajectories(setup: Setup, path: string): Promise<Demonstrate> {
  const { tokenizer, config, start } = setup;
  const all: Trajectory[] = [];
  let tooLong = 0;
  for await (const { value } of readJsonl(path, line)) {
    const last = value.segments.findLastIndex((s) => s.source === "policy");
    const segments = value.segments.slice(0, last + 1).map(({ source, text }, i): Segment => {
      const tokens = [...tokenizer.encode(text), ...(i === last ? tokenizer.eosIds.slice(0, 1) : [])];
      return source === "policy"
        ? {
            source,
            text,
            tokens,
            logprobs: tokens.map(() => 0),
            version: 0,
            finish: i === last ? "eos" : "stop",
          }
        : { source, text, tokens };
    });
    if (segments.reduce((n, s) => n + s.tokens.length, 0) > start.config.contextTokens) {
      tooLong++;
      continue;
    }
    const task = {
      id: value.id,
      question: value.question ?? "",
      goldenAnswers: [""],
      dataset: path,
      hops: 1,
    };
    all.push({
      task,
      member: 0,
      sequences: [{ seat: "researcher", segments }],
      outcome: "answered",
      temperature: 1,
      seconds: 0,
    });
  }
  if (all.length === 0)
    throw new DataError({
      what: "no trajectory can be trained on",
      where: path,
      got: `${tooLong} longer than the context of ${start.config.contextTokens} tokens`,
      expected: "one {id, segments: [{source, text}]} a line",
      next: "Raise model.contextTokens or give another file.",
    });
  const order = epochs(all, config.run.seed, "stored trajectories");
  return async (index) => order(Math.floor(index / all.length))[index % all.length];
}
