import { z } from "zod";
import type { Json } from "../dialects.ts";
import type { StoredEpisode } from "./episode.ts";
import { fireActRecord } from "./fireact.ts";
import { chatRecord } from "./messages.ts";
import { ownRecord } from "./own.ts";
import { r1SearcherRecord } from "./r1-searcher.ts";
import { webDancerRecord } from "./webdancer.ts";

type Parsed = Omit<StoredEpisode, "id"> & { readonly id?: string };

/** One kind of file: how its records are told from others', and how they are read. */
export interface Format {
  readonly is: (record: Json) => boolean;
  readonly schema: z.ZodType<Parsed>;
}

const numbers = z.array(z.number());

/** Token-level rows, ours or another's with the same columns. */
const rowRecord = z
  .looseObject({
    question_id: z.union([z.string(), z.int().transform(String)]).optional(),
    seat: z.string().nullish(),
    question: z.string().nullish(),
    golden_answers: z.array(z.string()).nullish(),
    outcome: z.string().nullish(),
    prediction: z.string().nullish(),
    tokenizer: z.string(),
    tokens: numbers,
    mask: numbers,
  })
  .refine(({ tokens, mask }) => tokens.length === mask.length, { path: ["mask"], error: "as long as tokens" })
  .transform(
    ({
      question_id,
      seat,
      question,
      golden_answers,
      outcome,
      prediction,
      tokenizer,
      tokens,
      mask,
    }): Parsed => ({
      ...(question_id === undefined ? {} : { id: question_id }),
      ...(seat ? { seat } : {}),
      ...(question ? { question } : {}),
      ...(golden_answers ? { goldenAnswers: golden_answers } : {}),
      ...(outcome ? { outcome } : {}),
      ...(prediction === undefined ? {} : { prediction }),
      ids: { tokenizer, tokens, mask },
    }),
  );

const has = (record: Json, ...keys: readonly string[]) => keys.some((key) => Array.isArray(record[key]));

/** First match wins: the special before the general. */
export const formats = {
  "r1-searcher": { is: (r) => typeof r.gen_text_store === "string", schema: r1SearcherRecord },
  rows: { is: (r) => has(r, "tokens") && has(r, "mask"), schema: rowRecord },
  forager: { is: (r) => has(r, "segments", "sequences"), schema: ownRecord },
  webdancer: { is: (r) => r.type === "chatml" && "functions" in r, schema: webDancerRecord },
  fireact: { is: isReAct, schema: fireActRecord },
  chat: { is: (r) => has(r, "messages", "conversations", "completion", "chosen"), schema: chatRecord },
} satisfies Record<string, Format>;

export type EpisodeFormat = keyof typeof formats;
export const episodeFormats = Object.keys(formats) as [EpisodeFormat, ...EpisodeFormat[]];

/** The format of a file by its first record; undefined for none of ours. */
export function formatOf(record: Json): EpisodeFormat | undefined {
  return episodeFormats.find((name) => formats[name].is(record));
}

/** `Thought: …` and `Action: name[…]` in what the assistant says first. */
function isReAct({ messages }: Json): boolean {
  if (!Array.isArray(messages)) return false;
  const said = (messages as readonly Json[]).find((message) => message?.role === "assistant")?.content;
  return typeof said === "string" && /^(Thought:[\s\S]*\n)?Action: ?\w+\[/u.test(said);
}
