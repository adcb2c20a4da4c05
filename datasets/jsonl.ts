import { basename } from "node:path";
import { z } from "zod";
import { DataError } from "../core/errors.ts";
import { readJsonl } from "../core/jsonl.ts";
import { type Json, passageKeys, questionKeys, readCount, readId, readText, readTexts } from "./dialects.ts";
import { LineIndex } from "./line-index.ts";
import type { Passage, Task } from "./task.ts";

const record = z.record(z.string(), z.unknown(), { error: "a JSON object" });

export interface Dropped {
  readonly id: string;
  /** 1-based. */
  readonly line: number;
  readonly reason: "no question" | "no gold answer" | "every gold answer normalises to nothing";
}

export interface LoadedTasks {
  readonly tasks: readonly Task[];
  /** Questions left out. */
  readonly dropped: readonly Dropped[];
  /** Gold answers left out of questions that keep others: they normalise to nothing, so an empty answer would match. */
  readonly droppedAliases: readonly { readonly id: string; readonly alias: string }[];
}

export interface ReadTasks {
  /** JSONL or JSONL.gz. */
  readonly path: string;
  /** The reward's normaliser; passed in because this folder knows no rewards. */
  readonly normalize: (answer: string) => string;
  /** Stop after this many kept questions. */
  readonly limit?: number | undefined;
  /** Keep only questions of these hop counts. */
  readonly hops?: readonly number[] | undefined;
  /** Name for questions that name no data set. Default: the file's name without extensions. */
  readonly dataset?: string | undefined;
}

/**
 * Reads questions in the dialects of `dialects.ts`. Questions without a usable gold answer are left out and named.
 * A question that does not say how many hops it takes counts as one.
 * @throws DataError for a missing file, a malformed line, a duplicate id (naming both lines), or no question at all.
 */
export async function readTasks(o: ReadTasks): Promise<LoadedTasks> {
  const { path, normalize, limit, hops, dataset } = o;
  const name = dataset ?? (basename(path).split(".")[0] as string);
  const lines = new LineIndex(path);
  const tasks: Task[] = [];
  const dropped: Dropped[] = [];
  const droppedAliases: { id: string; alias: string }[] = [];
  const otherHops = new Set<number>();
  for await (const { value, line } of readJsonl(path, record)) {
    if (limit !== undefined && tasks.length >= limit) break;
    const where = `${path}:${line}`;
    const id = readId(value, questionKeys.id, where);
    lines.add(id, line);
    const facts = taskOf(value, where, name);
    if (hops && !hops.includes(facts.hops)) {
      otherHops.add(facts.hops);
      continue;
    }
    const question = readText(value, questionKeys.question, where)?.trim() ?? "";
    const gold = [...readTexts(value, questionKeys.goldenAnswers, where)];
    if (gold.length > 0) gold.push(...readTexts(value, questionKeys.aliases, where));
    const trimmed = [...new Set(gold.map((answer) => answer.trim()))];
    const goldenAnswers = trimmed.filter((answer) => normalize(answer) !== "");
    const reason = reasonToDrop(question, gold.length, goldenAnswers.length);
    if (reason !== undefined) {
      dropped.push({ id, line, reason });
      continue;
    }
    for (const alias of trimmed) if (!goldenAnswers.includes(alias)) droppedAliases.push({ id, alias });
    tasks.push({ ...facts, id, question, goldenAnswers });
  }
  if (tasks.length === 0)
    throw otherHops.size > 0 ? noSuchHops(path, otherHops, hops ?? []) : noTasks(path, dropped);
  return { tasks, dropped, droppedAliases };
}

function reasonToDrop(question: string, given: number, kept: number): Dropped["reason"] | undefined {
  if (question === "") return "no question";
  if (given === 0) return "no gold answer";
  return kept === 0 ? "every gold answer normalises to nothing" : undefined;
}

function taskOf(value: Json, where: string, name: string): Pick<Task, "dataset" | "hops" | "supportingIds"> {
  const supportingIds = readTexts(value, questionKeys.supportingIds, where);
  return {
    dataset: readText(value, questionKeys.dataset, where) ?? name,
    hops: readCount(value, questionKeys.hops, where) ?? 1,
    ...(supportingIds.length > 0 ? { supportingIds } : {}),
  };
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

function noSuchHops(path: string, found: ReadonlySet<number>, wanted: readonly number[]): DataError {
  return new DataError({
    what: "no question has the hops asked for",
    where: path,
    got: `questions of ${[...found].sort((a, b) => a - b).join(", ")} hops`,
    expected: wanted.join(" or "),
    next: "Change `hops`, or leave it out.",
  });
}

function noTasks(path: string, dropped: readonly Dropped[]): DataError {
  const first = dropped[0]?.reason;
  const questions = first !== undefined && first !== "no question";
  return new DataError({
    what: "no question to work with",
    where: path,
    got: first === undefined ? "no lines" : `${dropped.length} left out, the first for: ${first}`,
    expected: `one JSON object a line with id, question and ${questionKeys.goldenAnswers.slice(0, 4).join(" | ")}`,
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
