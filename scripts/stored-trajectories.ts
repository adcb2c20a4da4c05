import { DataError } from "../core/errors.ts";
import { epochs } from "../datasets/batch.ts";
import type { StoredEpisode } from "../datasets/episodes/episode.ts";
import type { EpisodeFormat } from "../datasets/episodes/formats.ts";
import { readEpisodes } from "../datasets/episodes/read.ts";
import { goldOf, scoreAnswer } from "../reward/answers.ts";
import { answersOf, extractions } from "../reward/extract.ts";
import { normalizerOf } from "../reward/normalize.ts";
import { loadChatTemplate } from "../rollout/renderer.ts";
import { segmentsOf } from "../rollout/stored-episode.ts";
import type { Segment, Trajectory } from "../rollout/trajectory.ts";
import type { Demonstrate } from "./demonstrations.ts";
import { episodeReader } from "./episode-reader.ts";
import type { Setup } from "./setup.ts";
import { adaptersOf, roleOfSeat } from "./team-adapters.ts";

export interface StoredSource {
  readonly path: string;
  /** Told from the first record when absent. */
  readonly format?: EpisodeFormat | undefined;
  /** Leave out episodes whose judged answer is not right. */
  readonly onlyRight: boolean;
  /** Leave out what other roles of a team said; all of it stays unless given. */
  readonly learn?: readonly string[] | undefined;
}

/**
 * Episodes of a file as demonstrations: exports of runs, an evaluation's records.jsonl, chats, trajectories of other
 * projects. The very ids where the file has them for this tokenizer, else its text, encoded piece by piece. Drawn in
 * keyed random order, endlessly. @throws DataError for a file of which nothing can be trained on
 */
export async function storedTrajectories(
  setup: Setup,
  source: StoredSource,
  warn?: (text: string) => void,
): Promise<Demonstrate> {
  const { config, start } = setup;
  const { path, format } = source;
  const template = config.model.path ? loadChatTemplate(config.model.path) : undefined;
  const reader = episodeReader(config, { ...setup, template });
  const seats = setup.environment.seats;
  const byRole = adaptersOf(config).length > 1 || source.learn !== undefined;
  const all: Trajectory[] = [];
  let [tooLong, wrong, others] = [0, 0, 0];
  for await (const { episode, where } of readEpisodes(path, format)) {
    const segments = at(where, () => segmentsOf(episode, reader));
    if (byRole && !seats.includes(episode.seat ?? "")) throw noRole(episode, where, seats);
    if (source.learn && !source.learn.includes(roleOfSeat(episode.seat ?? ""))) others++;
    else if (source.onlyRight && !isRight(episode, segments, config.reward, where)) wrong++;
    else if (segments.reduce((n, s) => n + s.tokens.length, 0) > start.config.contextTokens) tooLong++;
    else all.push(trajectoryOf(episode, segments, path, seats));
  }
  const left = [
    ...(tooLong > 0 ? [`${tooLong} longer than the context of ${start.config.contextTokens} tokens`] : []),
    ...(wrong > 0 ? [`${wrong} without the right answer`] : []),
    ...(others > 0 ? [`${others} of other roles than ${source.learn?.join(", ")}`] : []),
  ].join(", ");
  if (all.length === 0)
    throw new DataError({
      what: "no trajectory can be trained on",
      where: path,
      got: left === "" ? "no record" : left,
      expected:
        "one {id, segments: [{source, text}]} a line, chat messages, or another format of docs/export.md",
      next: "Raise model.contextTokens or give another file.",
    });
  if (left !== "") warn?.(`${path}: ${all.length} episodes to learn from; left out: ${left}`);
  const order = epochs(all, config.run.seed, "stored trajectories");
  return async (index) => order(Math.floor(index / all.length))[index % all.length];
}

/** Says where in the file it was that a word could not be written or a template refused. */
function at<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof DataError)) throw cause;
    const { where: inside, ...complaint } = cause.complaint;
    throw new DataError({ ...complaint, where: inside ? `${where} (${inside})` : where, cause });
  }
}

function isRight(
  { goldenAnswers }: StoredEpisode,
  segments: readonly Segment[],
  { normalizer, extraction }: Setup["config"]["reward"],
  where: string,
): boolean {
  if (!goldenAnswers)
    throw new DataError({
      what: "whether the answer is right cannot be said",
      where,
      got: "no gold answers",
      next: "Leave `onlyRight` out of sft.source, or give a file with gold answers.",
    });
  const { [extraction]: pick } = extractions;
  const judged = pick(answersOf({ sequences: [{ segments }] }));
  const row = normalizerOf(normalizer);
  return scoreAnswer(judged, goldOf(goldenAnswers, row), row).em === 1;
}

/** Each role's own weights learn from what it said itself. */
const noRole = ({ seat }: StoredEpisode, where: string, seats: readonly string[]) =>
  new DataError({
    what: "whose words these are is not said, or nobody of that name plays here",
    where,
    got: seat ?? "no `seat`",
    expected: `one of ${seats.join(", ")}`,
    next: "Give `seat` beside the episode, export it with `forager export sft`, or let all roles share one adapter and learn.",
  });

function trajectoryOf(
  { id, seat, question = "", goldenAnswers }: StoredEpisode,
  segments: readonly Segment[],
  dataset: string,
  seats: readonly string[],
): Trajectory {
  return {
    task: { id, question, goldenAnswers: goldenAnswers ?? [""], dataset, hops: 1 },
    member: 0,
    sequences: [{ seat: seat ?? seats[0] ?? "researcher", segments }],
    outcome: "answered",
    temperature: 1,
    seconds: 0,
    unsampled: true,
  };
}
