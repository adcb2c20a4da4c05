import type { ZodType } from "zod";
import { DataError } from "../core/errors.ts";
import { readJsonl } from "../core/jsonl.ts";
import type { StoredEpisode } from "../datasets/episodes/episode.ts";
import type { EpisodeFormat } from "../datasets/episodes/formats.ts";
import { episodeFormatOf, readEpisodes } from "../datasets/episodes/read.ts";
import type { Spoken } from "./extract.ts";

/** What scoring needs of a record: turns to find the answer in, or else the answer. */
export interface Scorable {
  readonly given?: string | undefined;
  readonly outcome?: string | undefined;
  readonly goldenAnswers: readonly string[];
  readonly prediction?: string | null | undefined;
  readonly turns?: Spoken | undefined;
}

/**
 * Records to score. Files of another make (chats, exported rows, other projects' trajectories) are told by their first
 * record, or by `format`; every other file is JSON Lines of `own`.
 * @throws DataError naming the place of a record that is malformed or has no gold answers
 */
export async function* readScorable<T extends Scorable>(
  path: string,
  own: ZodType<T>,
  format?: EpisodeFormat,
): AsyncGenerator<{ readonly value: Scorable; readonly line: number }> {
  const name = format ?? (await episodeFormatOf(path));
  if (name === undefined || name === "forager") {
    yield* readJsonl(path, own);
    return;
  }
  let line = 0;
  for await (const { episode, where } of readEpisodes(path, name))
    yield { value: scorable(episode, where), line: ++line };
}

function scorable(
  { id, goldenAnswers, outcome, prediction, turns, chat }: StoredEpisode,
  where: string,
): Scorable {
  if (goldenAnswers === undefined)
    throw new DataError({
      what: "there are no gold answers to score against",
      where,
      next: "Score a file that has them.",
    });
  const segments =
    turns ??
    chat?.messages.map(({ role, content }) => ({
      source: role === "assistant" ? ("policy" as const) : ("observation" as const),
      text: content,
    }));
  return {
    ...{ goldenAnswers, outcome, prediction: prediction ?? null },
    ...(id.startsWith("line ") ? {} : { given: id }),
    ...(segments ? { turns: { sequences: [{ segments }] } } : {}),
  };
}
