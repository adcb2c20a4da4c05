import { field, type Json } from "./dialects.ts";

/** What a record says of the way to its answer. */
export interface Evidence {
  readonly hops?: number | undefined;
  /** Titles of the gold passages, each once, in hop order where the record knows it. */
  readonly titles: readonly string[];
}

/**
 * HotpotQA's and 2WikiMultihopQA's `supporting_facts`: pairs [title, sentence], or Hugging Face's
 * {title: [], sent_id: []}, either of them also as JSON inside a text. A hop is a page.
 */
export function supportingFacts(record: Json): Evidence {
  const facts = unpacked(record.supporting_facts);
  const titles = Array.isArray(facts)
    ? facts.map((fact: unknown) => (Array.isArray(fact) ? fact[0] : (fact as Json | null)?.title))
    : ((facts as Json | null | undefined)?.title as unknown[] | undefined);
  const distinct = texts(Array.isArray(titles) ? titles : []);
  return { titles: distinct, ...(distinct.length > 0 ? { hops: distinct.length } : {}) };
}

/**
 * MuSiQue's `question_decomposition` and `paragraphs`: a hop is a sub-question, and each names its paragraph. Where
 * they are gone the id still begins with the number of hops: "3hop1__…".
 */
export function decomposition(record: Json): Evidence {
  const steps = list(record.question_decomposition);
  const paragraphs = list(record.paragraphs);
  const byIndex = new Map(paragraphs.map((each) => [each.idx, each.title]));
  const named = steps.map((step) => byIndex.get(step.paragraph_support_idx));
  const marked = paragraphs.filter((each) => each.is_supporting === true).map(({ title }) => title);
  const said = /^(\d)hop/.exec(String(record.id ?? ""))?.[1];
  const hops = steps.length > 0 ? steps.length : said === undefined ? undefined : Number(said);
  return { hops, titles: texts([...named, ...marked]) };
}

/** FlashRAG keeps what a data set's own records held under `metadata`: whichever of the above is there. */
export function metadataEvidence(record: Json): Evidence {
  const found = unpacked(field(record, ["metadata", "meta_data"])?.value);
  if (typeof found !== "object" || found === null) return { titles: [] };
  const inner = { id: record.id, ...(found as Json) };
  const facts = supportingFacts(inner);
  return facts.titles.length > 0 ? facts : decomposition(inner);
}

/** A list or map that some data sets store as JSON inside a text. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

function list(value: unknown): Json[] {
  const items = unpacked(value);
  return Array.isArray(items)
    ? items.filter((item): item is Json => typeof item === "object" && item !== null)
    : [];
}

const texts = (values: readonly unknown[]): string[] => [
  ...new Set(values.filter((value): value is string => typeof value === "string" && value !== "")),
];
