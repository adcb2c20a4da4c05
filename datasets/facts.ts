import { basename } from "node:path";
import { DataError } from "../core/errors.ts";
import { type Json, questionKeys, readCount, readId, readText, readTexts } from "./dialects.ts";
import { type Format, type FormatName, formats, knownSource } from "./formats.ts";
import type { Task } from "./task.ts";

export interface RowPlace {
  readonly path: string;
  readonly row: number;
  readonly where: string;
  /** Name for questions that name no data set. */
  readonly dataset?: string | undefined;
}

/** All of a task but what is asked and answered. @throws DataError naming the field and the place */
export function factsOf(
  record: Json,
  name: FormatName,
  { path, row, where, dataset: given }: RowPlace,
): Omit<Task, "question" | "goldenAnswers"> {
  const format: Format = formats[name];
  const file = basename(path);
  const said = readText(record, questionKeys.dataset, where);
  const source = format.idsPerDataset && said !== undefined ? knownSource(said) : undefined;
  const dataset = source?.dataset ?? said ?? given ?? format.dataset ?? (file.split(".")[0] as string);
  const { titles, hops } = format.evidence?.(record) ?? { titles: [] };
  const supportingIds = readTexts(record, questionKeys.supportingIds, where);
  return {
    id: format.noIds
      ? `${file.replace(/\.(jsonl|ndjson|json|parquet|csv|tsv)?(\.gz)?$/, "")}-${row}`
      : idOf(record, format, source?.dataset, where),
    dataset,
    hops:
      readCount(record, questionKeys.hops, where) ??
      hops ??
      format.hops ??
      (name === "forager" ? 1 : knownSource(dataset).hops),
    ...(supportingIds.length > 0 ? { supportingIds } : {}),
    ...(titles.length > 0 ? { supportingTitles: titles } : {}),
  };
}

function idOf(record: Json, format: Format, source: string | undefined, where: string): string {
  const id = readId(record, format.id, where);
  if (source === undefined) return id;
  // A bare number is a place in its split.
  const split = /^\d+$/.test(id) ? readText(record, questionKeys.split, where) : undefined;
  return `${source}/${split === undefined ? "" : `${split}_`}${id}`;
}

/** What is asked, trimmed ("" when nothing is), and every gold answer as written. @throws DataError */
export function askedOf(
  record: Json,
  name: FormatName,
  where: string,
): { readonly question: string; readonly gold: readonly string[] } {
  const format: Format = formats[name];
  const question = readText(record, format.question, where) ?? format.otherQuestion?.(record) ?? "";
  const gold = readTexts(record, format.goldenAnswers, where);
  return {
    question: question.trim(),
    gold: gold.length > 0 ? [...gold, ...readTexts(record, format.aliases, where)] : [],
  };
}

/** A file whose columns are known must have what a question needs. @throws DataError naming what is missing and what is there */
export function checkColumns(path: string, name: FormatName, columns: readonly string[]): void {
  const format: Format = formats[name];
  const needs: (readonly string[])[] = [format.goldenAnswers];
  needs.push(format.otherQuestion ? [...format.question, "prompt"] : format.question);
  if (!format.noIds) needs.push(format.id);
  const missing = needs.filter((keys) => !keys.some((key) => columns.includes(key.split(".")[0] as string)));
  if (missing.length === 0) return;
  throw new DataError({
    what: `columns of the format ${name} are missing`,
    where: path,
    got: `columns ${columns.slice(0, 20).join(", ")}${columns.length > 20 ? ", …" : ""}`,
    expected: missing.map((keys) => keys.slice(0, 4).join(" | ")).join("; "),
    next: "Rename the columns, or name another `format`.",
  });
}
