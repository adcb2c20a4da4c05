import { z } from "zod";
import { DataError } from "../core/errors.ts";

/** The tags of the Researcher's protocol, the padding and the end of text: one token each. */
export const specialTokens = [
  "<pad>",
  "<eos>",
  "<question>",
  "</question>",
  "<search>",
  "</search>",
  "<information>",
  "</information>",
  "<answer>",
  "</answer>",
  "<think>",
  "</think>",
] as const;

/** Every consonant + vowel pair that names are made of: 48 syllables. */
export const defaultSyllables: readonly string[] = [..."bdfgklmnrstz"].flatMap((consonant) =>
  [..."aeio"].map((vowel) => consonant + vowel),
);

const word = z.string().regex(/^\S+$/u, "a word has at least one character and no white space");

export const vocabularySchema = z.strictObject({
  special: z
    .array(word)
    .describe("One token each, recognised anywhere in a text; must hold <pad> and <eos>. <unk> is optional."),
  words: z.array(word).describe("Known words, punctuation included: one token each."),
  syllables: z
    .array(z.string().regex(/^\S\S$/u, "a syllable has two characters"))
    .describe("Two-character pieces that unknown words are cut into."),
});

/** What `vocabulary.json` in a model folder holds. Ids: special, words, word-initial syllables, continuations. */
export type Vocabulary = Readonly<z.infer<typeof vocabularySchema>>;

/** The vocabulary of a small world: the protocol's tags, the given words (sorted, each once), the default syllables. */
export function defaultVocabulary(words: Iterable<string>): Vocabulary {
  const own = [...new Set(words)].filter((w) => !(specialTokens as readonly string[]).includes(w)).sort();
  return checkVocabulary({ special: [...specialTokens], words: own, syllables: [...defaultSyllables] });
}

/** The vocabulary with more tokens; those that it has already stay as they are. */
export function extendVocabulary(
  vocabulary: Vocabulary,
  more: { readonly special: readonly string[]; readonly words: readonly string[] },
): Vocabulary {
  const { special, words, syllables } = vocabulary;
  const added = (own: readonly string[], others: readonly string[]) => [
    ...own,
    ...others.filter((each) => !special.includes(each) && !words.includes(each)),
  ];
  return checkVocabulary({
    special: added(special, more.special),
    words: added(words, more.words),
    syllables,
  });
}

/** Every token of a vocabulary by what it is, in the order of ids; syllables as a word's first and as later ones. */
export const piecesOf = ({ special, words, syllables }: Vocabulary): string[] => [
  ...special,
  ...words,
  ...syllables.map((each) => `_${each}`),
  ...syllables.map((each) => `+${each}`),
];

/** Parses and cross-checks a vocabulary. Throws DataError. */
export function checkVocabulary(value: unknown, where = "vocabulary"): Vocabulary {
  const parsed = vocabularySchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new DataError({
      where: [where, ...(issue?.path ?? [])].join("."),
      what: "not a vocabulary",
      got: issue?.message ?? "another shape",
      expected: "{ special: string[], words: string[], syllables: string[] }",
      next: "Rebuild the file with the command that wrote it.",
    });
  }
  const { special, words, syllables } = parsed.data;
  for (const needed of ["<pad>", "<eos>"]) {
    if (!special.includes(needed))
      throw new DataError({
        where,
        what: `special token ${needed} is missing`,
        next: "Add it to `special`.",
      });
  }
  const pieces = [...special, ...words, ...syllables.map((s) => `_${s}`)];
  const seen = new Set<string>();
  const repeated = pieces.find((piece) => seen.size === seen.add(piece).size);
  if (repeated !== undefined)
    throw new DataError({ where, what: `"${repeated}" is listed twice`, next: "Keep one of them." });
  const hidden = words.find((w) => special.some((tag) => w.includes(tag)));
  if (hidden !== undefined)
    throw new DataError({
      where,
      what: `word "${hidden}" contains a special token`,
      next: "Rename the word.",
    });
  return parsed.data;
}
