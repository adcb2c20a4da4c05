import { z } from "zod";
import type { StoredEpisode, Turn } from "./episode.ts";
import { sources } from "./source.ts";

const segments = z.array(z.looseObject({ source: z.enum(sources), text: z.string() }));
const id = z.union([z.string(), z.int().transform(String)]);

/** Records of evaluations and stored trajectories: `{ id, segments: [{ source, text }] }`, or `sequences` of them. */
export const ownRecord = z
  .looseObject({
    id: id.optional(),
    taskId: id.optional(),
    task: z.looseObject({ id: id.optional(), goldenAnswers: z.array(z.string()).optional() }).optional(),
    question: z.string().optional(),
    goldenAnswers: z.array(z.string()).optional(),
    prediction: z.string().nullish(),
    outcome: z.string().optional(),
    seat: z.string().optional(),
    segments: segments.optional(),
    sequences: z.array(z.looseObject({ seat: z.string().optional(), segments })).optional(),
  })
  .transform((record, context): StoredEpisode => {
    const turns: readonly Turn[] | undefined =
      record.segments ?? record.sequences?.flatMap((sequence) => sequence.segments);
    const missing = (path: string, message: string) => {
      context.addIssue({ code: "custom", path: [path], message });
      return z.NEVER;
    };
    const given = record.id ?? record.taskId ?? record.task?.id;
    if (given === undefined) return missing("id", "text or a whole number");
    if (!turns?.some(({ source, text }) => source === "policy" && text !== ""))
      return missing("segments", "at least one policy segment with text");
    if (record.sequences && record.sequences.length > 1)
      return missing("sequences", "one sequence (an episode of several is several records)");
    const goldenAnswers = record.goldenAnswers ?? record.task?.goldenAnswers;
    const seat = record.seat ?? record.sequences?.[0]?.seat;
    return {
      id: given,
      turns,
      ...(seat === undefined ? {} : { seat }),
      ...(record.question === undefined ? {} : { question: record.question }),
      ...(goldenAnswers ? { goldenAnswers } : {}),
      ...(record.prediction === undefined ? {} : { prediction: record.prediction }),
      ...(record.outcome === undefined ? {} : { outcome: record.outcome }),
    };
  });
