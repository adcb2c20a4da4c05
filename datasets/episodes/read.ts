import { DataError } from "../../core/errors.ts";
import type { Json } from "../dialects.ts";
import { readRecords } from "../records.ts";
import type { StoredEpisode } from "./episode.ts";
import { type EpisodeFormat, type Format, formatOf, formats } from "./formats.ts";

/** An episode and where it stands: "runs.jsonl:7", "rows.parquet: row 7". */
export interface ReadEpisode {
  readonly episode: StoredEpisode;
  readonly where: string;
}

/**
 * Reads the episodes of a file: JSON Lines (plain or .gz), a JSON array, Parquet or Arrow, in any of `formats`; without
 * `format` the first record decides. An episode without an id is called by its place.
 * @throws DataError naming the place of a record that breaks its format, or for a file of none
 */
export async function* readEpisodes(path: string, format?: EpisodeFormat): AsyncGenerator<ReadEpisode> {
  let name = format;
  for await (const { value, row, where } of readRecords(path)) {
    name ??= formatOf(value) ?? noFormat(where, value);
    const { schema }: Format = formats[name];
    const parsed = schema.safeParse(value);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new DataError({
        what: `field \`${issue?.path.join(".") || "(record)"}\` is wrong`,
        where,
        got: excerpt(value),
        expected: `${issue?.message ?? "another record"} (format ${name})`,
        next: "Mend this record, leave it out, or name another format.",
      });
    }
    const { id = `line ${row}`, ...episode } = parsed.data;
    yield { episode: { ...episode, id }, where };
  }
}

/** The format of a file, by its first record; undefined for none of ours. */
export async function episodeFormatOf(path: string): Promise<EpisodeFormat | undefined> {
  for await (const { value } of readRecords(path)) return formatOf(value);
  return undefined;
}

function noFormat(where: string, value: Json): never {
  throw new DataError({
    what: "these are no episodes",
    where,
    got: `an object with ${Object.keys(value).slice(0, 8).join(", ") || "nothing in it"}`,
    expected:
      "`segments` (ours), `messages` or `conversations` (chat), `tokens` and `mask` (rows), or a known data set's own keys",
    next: "Name another file.",
  });
}

function excerpt(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
