import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { readJsonl } from "../core/jsonl.ts";
import { type Json, passageKeys, questionKeys, readId, readText } from "./dialects.ts";
import { askedOf, checkColumns, factsOf } from "./facts.ts";
import { type FormatName, formatOf, formats, usedFields } from "./formats.ts";
import { LineIndex } from "./line-index.ts";
import { type FileKind, openRows } from "./row-file.ts";
import type { Passage, Task } from "./task.ts";

const record = z.record(z.string(), z.unknown(), { error: "a JSON object" });

export interface Dropped {
  readonly id: string;
  /** 1-based: its line, or its row in a file without lines. */
  readonly line: number;
  readonly reason:
    | "no question"
    | "no gold answer"
    | "every gold answer normalises to nothing"
    | "marked as unanswerable";
}

export interface LoadedTasks {
  readonly tasks: readonly Task[];
  /** Questions left out. */
  readonly dropped: readonly Dropped[];
  /** Gold answers left out of questions that keep others: they normalise to nothing, so an empty answer would match. */
  readonly droppedAliases: readonly { readonly id: string; readonly alias: string }[];
}

export interface ReadTasks {
  /** JSONL, a JSON array, CSV or TSV, any of them gzipped, or Parquet. */
  readonly path: string;
  /** What the config calls it; absent: whatever it is. */
  readonly kind?: FileKind | undefined;
  /** Default `auto`: what the first record tells. */
  readonly format?: FormatName | "auto" | undefined;
  /** The reward's normaliser; passed in because this folder knows no rewards. */
  readonly normalize: (answer: string) => string;
  /** Stop after this many kept questions. */
  readonly limit?: number | undefined;
  /** Keep only questions of these hop counts. */
  readonly hops?: readonly number[] | undefined;
  /** Keep only questions whose record names this split. */
  readonly split?: string | undefined;
  /** Name for questions that name no data set. Default: the format's, or the file's name without extensions. */
  readonly dataset?: string | undefined;
}

/**
 * Reads questions in the formats of `formats.ts`. Questions without a usable gold answer are left out and named.
 * A question that does not say how many hops it takes counts as one, or as its data set's.
 * @throws DataError for a missing file, a malformed record, a missing column, a duplicate id (naming both places), or
 * no question at all.
 */
export async function readTasks(o: ReadTasks): Promise<LoadedTasks> {
  const { path, normalize, limit } = o;
  const records = await openRows(path, o.kind);
  const lines = new LineIndex(path, records.unit, records.place);
  const tasks: Task[] = [];
  const dropped: Dropped[] = [];
  const droppedAliases: { id: string; alias: string }[] = [];
  const others = { hops: new Set<number>(), split: new Set<string>() };
  let format = o.format === "auto" ? undefined : o.format;
  let fields: readonly string[] = records.columns ?? [];
  let first = true;
  for await (const { value, row, where } of records.read(usedFields)) {
    if (limit !== undefined && tasks.length >= limit) break;
    if (fields.length === 0) fields = Object.keys(value);
    if (first && records.columns) checkColumns(path, format ?? formatOf(value), records.columns);
    first = false;
    format ??= formatOf(value);
    const split =
      o.split === undefined ? undefined : (readText(value, questionKeys.split, where) ?? "(none)");
    if (split !== o.split) {
      others.split.add(split as string);
      continue;
    }
    const { id, hops, ...facts } = factsOf(value, format, { row, where, path, dataset: o.dataset });
    if (value.answerable === false) {
      dropped.push({ id, line: row, reason: "marked as unanswerable" });
      continue;
    }
    lines.add(id, row);
    if (o.hops && !o.hops.includes(hops)) {
      others.hops.add(hops);
      continue;
    }
    const { question, gold } = askedOf(value, format, where);
    const trimmed = [...new Set(gold.map((answer) => answer.trim()))];
    const goldenAnswers = trimmed.filter((answer) => normalize(answer) !== "");
    const reason = reasonToDrop(question, gold.length, goldenAnswers.length);
    if (reason !== undefined) {
      dropped.push({ id, line: row, reason });
      continue;
    }
    for (const alias of trimmed) if (!goldenAnswers.includes(alias)) droppedAliases.push({ id, alias });
    tasks.push({ id, question, goldenAnswers, hops, ...facts });
  }
  if (tasks.length > 0) return { tasks, dropped, droppedAliases };
  if (others.hops.size > 0)
    throw noSuch(
      path,
      "hops",
      [...others.hops].sort((a, b) => a - b),
      o.hops ?? [],
    );
  if (others.split.size > 0) throw noSuch(path, "split", [...others.split].sort(), [o.split ?? ""]);
  throw noTasks(path, records.columns ? "row" : records.unit, dropped, fields, format);
}

function reasonToDrop(question: string, given: number, kept: number): Dropped["reason"] | undefined {
  if (question === "") return "no question";
  if (given === 0) return "no gold answer";
  return kept === 0 ? "every gold answer normalises to nothing" : undefined;
}

/** One line for people: "3 of 10 questions left out: 2 no gold answer (a, b), 1 no question (c)"; undefined when none. */
export function describeDropped({ tasks, dropped, droppedAliases }: LoadedTasks): string | undefined {
  if (dropped.length === 0 && droppedAliases.length === 0) return undefined;
  const reasons = [...new Set(dropped.map(({ reason }) => reason))].map((reason) => {
    const ids = dropped.filter((each) => each.reason === reason).map(({ id }) => id);
    return `${ids.length} ${reason} (${some(ids)})`;
  });
  const questions = `${dropped.length} of ${tasks.length + dropped.length} questions left out`;
  const aliases = `${droppedAliases.length} gold answers that normalise to nothing left out`;
  return [
    ...(dropped.length > 0 ? [`${questions}: ${reasons.join(", ")}`] : []),
    ...(droppedAliases.length > 0 ? [`${aliases} (${some(droppedAliases.map(({ id }) => id))})`] : []),
  ].join("; ");
}

const some = (ids: readonly string[]) => ids.slice(0, 5).join(", ") + (ids.length > 5 ? ", …" : "");

function noSuch(
  path: string,
  key: "hops" | "split",
  found: readonly (number | string)[],
  wanted: readonly (number | string)[],
): DataError {
  return new DataError({
    what: `no question has the ${key} asked for`,
    where: path,
    got: key === "hops" ? `questions of ${found.join(", ")} hops` : found.join(", "),
    expected: wanted.join(" or "),
    next: `Change \`${key}\`, or leave it out.`,
  });
}

function noTasks(
  path: string,
  unit: string,
  dropped: readonly Dropped[],
  fields: readonly string[],
  format: FormatName = "forager",
): DataError {
  const first = dropped[0]?.reason;
  const questions = first !== undefined && first !== "no question";
  const { id, question, goldenAnswers } = formats[format];
  const names = `${id[0]}, ${question[0]} and ${goldenAnswers.slice(0, 4).join(" | ")}`;
  const seen = fields.length > 0 ? `; the first has ${fields.slice(0, 12).join(", ")}` : "";
  return new DataError({
    what: "no question to work with",
    where: path,
    got: first === undefined ? `no ${unit}s` : `${dropped.length} left out, the first for: ${first}${seen}`,
    expected: `${unit === "line" ? "one JSON object a line" : `${unit}s`} with ${names}`,
    next: questions
      ? "Give the questions gold answers."
      : "Check that the path names a file of questions, not of passages.",
  });
}

/**
 * Reads a corpus, one passage at a time: {id, title, text}, BEIR's {_id, title, text}, or Search-R1's
 * {id, contents} whose first line is the title in quotes.
 * @throws DataError for a missing file, a malformed line, a duplicate id (naming both lines), a passage with no text,
 * or an empty corpus.
 */
export async function* readPassages(path: string): AsyncGenerator<Passage> {
  const lines = new LineIndex(path);
  let any = false;
  for await (const { value, line } of readJsonl(path, record)) {
    const where = `${path}:${line}`;
    const id = readId(value, passageKeys.id, where);
    lines.add(id, line);
    any = true;
    yield { id, ...titleAndText(value, where) };
  }
  if (!any)
    throw new DataError({
      what: "the corpus is empty",
      where: path,
      expected: "one JSON object a line with id, title and text",
      next: "Check the path, and that the command that wrote the file has finished.",
    });
}

function titleAndText(value: Json, where: string): { title: string; text: string } {
  const contents = readText(value, passageKeys.contents, where);
  const text = readText(value, passageKeys.text, where);
  const passage =
    text === undefined && contents !== undefined
      ? splitContents(contents)
      : { title: readText(value, passageKeys.title, where) ?? "", text: text ?? "" };
  if (passage.text.trim() === "")
    throw new DataError({
      what: "a passage without text",
      where,
      expected: "`text`, or `contents` with the title on its first line",
      next: "Mend this line, or leave it out.",
    });
  return passage;
}

function splitContents(contents: string): { title: string; text: string } {
  const end = contents.indexOf("\n");
  if (end < 0) return { title: "", text: contents };
  const title = contents.slice(0, end).trim();
  return { title: title.replace(/^"(.*)"$/, "$1"), text: contents.slice(end + 1) };
}
