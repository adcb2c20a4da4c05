import { DataError } from "../core/errors.ts";

/** Names under which each field of a question is found, first match wins. A dot goes into a nested object. */
export const questionKeys = {
  id: ["id", "_id", "qid", "question_id", "idx"],
  question: ["question", "query"],
  goldenAnswers: [
    "golden_answers",
    "goldenAnswers",
    "answers",
    "answer",
    "possible_answers",
    "reward_model.ground_truth.target",
    "reward_model.ground_truth",
  ],
  /** Further right answers beside the gold ones (MuSiQue). */
  aliases: ["answer_aliases", "aliases"],
  dataset: ["dataset", "data_source"],
  hops: ["hops", "num_hops"],
  supportingIds: ["supporting_ids", "supportingIds"],
  split: ["split", "extra_info.split"],
} as const;

/** The same for a passage: ours and BEIR's, Search-R1's `contents`. */
export const passageKeys = {
  id: ["id", "_id", "docid", "passage_id"],
  title: ["title"],
  text: ["text", "passage"],
  contents: ["contents"],
} as const;

export type Json = Readonly<Record<string, unknown>>;

/** A field's value under the first of its names that is there and not null; `key` is that name. */
export function field(
  record: Json,
  keys: readonly string[],
): { readonly key: string; readonly value: unknown } | undefined {
  for (const key of keys) {
    const value = key
      .split(".")
      .reduce<unknown>(
        (at, part) =>
          typeof at === "object" && at !== null && Object.hasOwn(at, part) ? (at as Json)[part] : undefined,
        record,
      );
    if (value !== undefined && value !== null) return { key, value };
  }
  return undefined;
}

/** @throws DataError unless the field is a text or a number that JSON can hold exactly. */
export function readId(record: Json, keys: readonly string[], where: string): string {
  const found = field(record, keys);
  if (typeof found?.value === "string" && found.value.trim() !== "") return found.value;
  if (Number.isSafeInteger(found?.value)) return String(found?.value);
  throw wrong(where, found, keys, "a non-empty text, or an integer below 2^53");
}

/** @throws DataError when the field is there and no text. */
export function readText(record: Json, keys: readonly string[], where: string): string | undefined {
  const found = field(record, keys);
  if (found === undefined || typeof found.value === "string") return found?.value as string | undefined;
  throw wrong(where, found, keys, "a text");
}

/** @throws DataError when the field is there and no integer of 1 or more. */
export function readCount(record: Json, keys: readonly string[], where: string): number | undefined {
  const found = field(record, keys);
  if (found === undefined) return undefined;
  // In a file of texts alone (CSV) a count is one too.
  const digits = typeof found.value === "string" && /^\d{1,15}$/.test(found.value);
  const value = digits ? Number(found.value) : found.value;
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number;
  throw wrong(where, found, keys, "an integer of 1 or more");
}

/**
 * One or more texts: a text, a number, a list of them, `{"target": …}` (verl), `{"text": …}` (SQuAD), a JSON list
 * inside a text (PopQA), or several joined by `<|answer_split|>` (DeepResearcher). An absent field is an empty list.
 * @throws DataError for anything else.
 */
export function readTexts(record: Json, keys: readonly string[], where: string): string[] {
  const found = field(record, keys);
  if (found === undefined) return [];
  const texts = toTexts(found.value);
  if (texts === undefined) throw wrong(where, found, keys, "a text or a list of texts");
  return texts;
}

function toTexts(value: unknown): string[] | undefined {
  if (typeof value === "number") return [String(value)];
  if (typeof value === "string") return jsonList(value) ?? value.split("<|answer_split|>");
  if (Array.isArray(value)) {
    const parts = value.map((item) => (typeof item === "string" ? [item] : toTexts(item)));
    return parts.every((part) => part !== undefined) ? parts.flat() : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const inner = field(value as Json, ["target", "text"]);
  return inner === undefined ? undefined : toTexts(inner.value);
}

/** A text that is itself a JSON list of texts; any other text is an answer as it stands. */
function jsonList(text: string): string[] | undefined {
  if (!text.startsWith("[") || !text.endsWith("]")) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.every((item) => typeof item === "string") ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function wrong(
  where: string,
  found: { readonly key: string; readonly value: unknown } | undefined,
  keys: readonly string[],
  expected: string,
): DataError {
  const text = JSON.stringify(found?.value) ?? "";
  return new DataError({
    where,
    what: found === undefined ? `field \`${keys[0]}\` is missing` : `field \`${found.key}\` is wrong`,
    ...(found === undefined ? {} : { got: text.length > 80 ? `${text.slice(0, 77)}...` : text }),
    expected: `${expected}${found === undefined && keys.length > 1 ? ` under one of ${keys.join(", ")}` : ""}`,
    next: "Mend this line, or leave it out.",
  });
}
