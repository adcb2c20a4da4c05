import { type Json, questionKeys, readText } from "./dialects.ts";
import { decomposition, type Evidence, metadataEvidence, supportingFacts, unpacked } from "./evidence.ts";

/** How the records of one data set's files are read. Names of fields: first match wins, a dot goes into a nested object. */
export interface Format {
  /** For documentation. */
  readonly describe: string;
  /** Is this record of the format? Rows are asked in the table's order. */
  readonly tells: (record: Json) => boolean;
  readonly id: readonly string[];
  readonly question: readonly string[];
  readonly goldenAnswers: readonly string[];
  /** Further right answers. */
  readonly aliases: readonly string[];
  /** Name of the data set where the record says none; absent: the file's name. */
  readonly dataset?: string;
  /** Hops where the record says none; default 1. */
  readonly hops?: number;
  readonly evidence?: (record: Json) => Evidence;
  /** Records carry no id: it is made of the file's name and the row. */
  readonly noIds?: true;
  /** Where the question is when no field of `question` is there. */
  readonly otherQuestion?: (record: Json) => string | undefined;
  /** Many data sets in one file whose ids begin anew in each: the data set becomes part of the id. */
  readonly idsPerDataset?: true;
}

const { id, question, goldenAnswers, aliases } = questionKeys;
const plain = { id, question, goldenAnswers, aliases, evidence: ownTitles };
const has = (record: Json, ...names: readonly string[]) =>
  names.every((name) => record[name] !== undefined && record[name] !== null);
const isMap = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The formats of question files, the most telling first; the last one takes every record. */
export const formats = {
  "search-r1": {
    describe: "Search-R1 and verl: data_source, prompt, reward_model.ground_truth",
    tells: (record) => isMap(record.reward_model),
    ...plain,
    id: ["id", "extra_info.index"],
    question: ["question", "extra_info.question"],
    goldenAnswers: [
      "golden_answers",
      "reward_model.ground_truth.target",
      "reward_model.ground_truth",
      "answer",
    ],
    otherQuestion: lastUserMessage,
    idsPerDataset: true,
    evidence: metadataEvidence,
  },
  musique: {
    describe: "MuSiQue: paragraphs, question_decomposition, answer_aliases",
    tells: (record) =>
      has(record, "question_decomposition") ||
      (has(record, "answer_aliases") && /^\dhop/.test(String(record.id))),
    ...plain,
    goldenAnswers: ["answer"],
    dataset: "musique",
    hops: 2,
    evidence: decomposition,
  },
  "2wikimultihopqa": {
    describe: "2WikiMultihopQA: supporting_facts, evidences, type",
    tells: (record) => has(record, "supporting_facts", "evidences"),
    ...plain,
    goldenAnswers: ["answer"],
    aliases: [],
    dataset: "2wikimultihopqa",
    evidence: (record) => ({ hops: record.type === "bridge_comparison" ? 4 : 2, ...supportingFacts(record) }),
  },
  hotpotqa: {
    describe: "HotpotQA: supporting_facts, type, level",
    tells: (record) => has(record, "supporting_facts") || has(record, "answer", "type", "level"),
    ...plain,
    goldenAnswers: ["answer"],
    aliases: [],
    dataset: "hotpotqa",
    hops: 2,
    evidence: supportingFacts,
  },
  triviaqa: {
    describe:
      "TriviaQA: answer.value with aliases, question_id; the original spells them Answer.Value, QuestionId",
    tells: (record) => has(record, "QuestionId") || (isMap(record.answer) && has(record.answer, "value")),
    ...plain,
    id: ["question_id", "QuestionId", "id"],
    question: ["question", "Question"],
    goldenAnswers: ["answer.value", "Answer.Value"],
    aliases: ["answer.aliases", "Answer.Aliases"],
    dataset: "triviaqa",
  },
  popqa: {
    describe: "PopQA: possible_answers, s_wiki_title",
    tells: (record) => has(record, "possible_answers"),
    ...plain,
    goldenAnswers: ["possible_answers"],
    aliases: [],
    dataset: "popqa",
    evidence: ({ s_wiki_title: title }) => ({ titles: typeof title === "string" ? [title] : [] }),
  },
  bamboogle: {
    describe: "Bamboogle: Question, Answer",
    tells: (record) => has(record, "Question", "Answer"),
    ...plain,
    question: ["Question"],
    goldenAnswers: ["Answer"],
    aliases: [],
    dataset: "bamboogle",
    hops: 2,
    noIds: true,
  },
  "nq-open": {
    describe: "NQ-open: question, a list in answer, no ids",
    tells: (record) =>
      has(record, "question") &&
      Array.isArray(record.answer) &&
      !questionKeys.id.some((key) => has(record, key)),
    ...plain,
    goldenAnswers: ["answer"],
    aliases: [],
    dataset: "nq",
    noIds: true,
  },
  flashrag: {
    describe: "FlashRAG: id, question, golden_answers, metadata",
    tells: (record) => has(record, "golden_answers") && (has(record, "metadata") || has(record, "meta_data")),
    ...plain,
    goldenAnswers: ["golden_answers"],
    evidence: metadataEvidence,
  },
  forager: {
    describe:
      "Forager's own, and whatever names its fields alike: id, question, golden_answers, supporting_ids",
    tells: () => true,
    ...plain,
  },
} as const satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof formats;
export const formatNames = Object.keys(formats) as [FormatName, ...FormatName[]];

/** The first format that a record tells of itself. */
export function formatOf(record: Json): FormatName {
  return formatNames.find((name) => formats[name].tells(record)) as FormatName;
}

function ownTitles(record: Json): Evidence {
  const given = unpacked(record.supporting_titles ?? record.supportingTitles);
  const titles = Array.isArray(given) ? given.filter((each) => typeof each === "string" && each !== "") : [];
  return { titles: [...new Set(titles as string[])] };
}

/** verl's prompt is a list of messages; DeepResearcher's files hold the question nowhere else. */
function lastUserMessage({ prompt }: Json): string | undefined {
  const messages = Array.isArray(prompt) ? prompt.filter(isMap) : [];
  const last = messages.findLast(({ role }) => role === "user");
  return last && readText(last, ["content"], "prompt");
}

/** What Search-R1's and verl's files call a data set → our name, and the hops its questions take at least. */
const sources: Readonly<Record<string, readonly [name: string, hops: number]>> = {
  nq: ["nq", 1],
  triviaqa: ["triviaqa", 1],
  tq: ["triviaqa", 1],
  popqa: ["popqa", 1],
  hotpotqa: ["hotpotqa", 2],
  "2wikimultihopqa": ["2wikimultihopqa", 2],
  "2wiki": ["2wikimultihopqa", 2],
  musique: ["musique", 2],
  bamboogle: ["bamboogle", 2],
};

/** A verl `data_source` ("nq", "searchR1_nq", "Bamboogle") by our name; one we do not know keeps its own and takes one hop. */
export function knownSource(source: string): { readonly dataset: string; readonly hops: number } {
  const key = source.replace(/^searchr1_/i, "").toLowerCase();
  const [dataset, hops] = (Object.hasOwn(sources, key) ? sources[key] : undefined) ?? [source, 1];
  return { dataset, hops };
}

/** Fields that any format looks at, by their outermost names: a columnar file reads no others. */
export const usedFields: readonly string[] = [
  ...new Set([
    ...Object.values(formats as Readonly<Record<string, Format>>).flatMap((format) =>
      [
        format.id,
        format.question,
        format.goldenAnswers,
        format.aliases,
        questionKeys.dataset,
        questionKeys.hops,
        questionKeys.supportingIds,
        questionKeys.split,
      ]
        .flat()
        .map((key) => key.split(".")[0] as string),
    ),
    ...["prompt", "metadata", "meta_data", "supporting_facts", "supporting_titles", "supportingTitles"],
    ...["question_decomposition", "paragraphs", "answerable", "evidences", "type", "level", "s_wiki_title"],
  ]),
];
