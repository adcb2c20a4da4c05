import { z } from "zod";
import type { StoredEpisode } from "./episode.ts";
import { chatRecord } from "./messages.ts";

const answers = z.union([z.string(), z.array(z.union([z.string(), z.array(z.string())]))]);

const asks = "User:";

/**
 * One line of WebDancer's trajectories: chat messages with calls of `search` and `visit` in their text. They stay a
 * chat, in its own protocol; the question is what follows the instructions after the last "User:".
 */
export const webDancerRecord = z
  .looseObject({ answer: answers.nullish() })
  .transform((record, context): Omit<StoredEpisode, "id"> => {
    const parsed = chatRecord.safeParse(record);
    if (!parsed.success) {
      for (const issue of parsed.error.issues) context.addIssue({ ...issue, code: "custom" });
      return z.NEVER;
    }
    const opening = parsed.data.chat?.messages.find(({ role }) => role === "user")?.content ?? "";
    const at = opening.lastIndexOf(asks);
    const golden = [record.answer ?? []].flat(2);
    return {
      ...parsed.data,
      question: (at < 0 ? opening : opening.slice(at + asks.length)).trim(),
      ...(golden.length > 0 ? { goldenAnswers: golden } : {}),
    };
  });
