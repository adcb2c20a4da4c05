import { ConfigError } from "../core/errors.ts";
import { readPassages } from "../datasets/jsonl.ts";
import type { Task } from "../datasets/task.ts";
import { defaultVocabulary, type Vocabulary } from "../rollout/vocabulary.ts";

/** Past this a tiny policy with one token a word makes no sense. */
const mostWords = 20_000;

/** A word without the punctuation around it: a query drops the question mark, an answer the full stop. */
const bare = (word: string) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/**
 * A vocabulary of whole words for a tiny policy over the user's own documents and questions. What is in none of them
 * (a correction's English, a person's own query) is `<unk>`.
 */
export async function corpusVocabulary(
  corpus: string | undefined,
  tasks: readonly Task[],
): Promise<Vocabulary> {
  if (corpus === undefined)
    throw new ConfigError({
      what: "a tiny model needs the corpus to make its vocabulary",
      where: "search.corpus",
      next: "Name the corpus file, or train a real model with `model.path`.",
    });
  const words = new Set(["<unk>"]);
  const add = (text: string) => {
    for (const word of text.split(/\s+/u))
      for (const form of [word, bare(word)]) if (form !== "") words.add(form);
  };
  for await (const { title, text } of readPassages(corpus)) add(`${title} ${text}`);
  for (const { question, goldenAnswers } of tasks) [question, ...goldenAnswers].forEach(add);
  if (words.size > mostWords)
    throw new ConfigError({
      what: "the corpus has too many different words for a tiny model",
      where: corpus,
      got: `${words.size} words`,
      expected: `at most ${mostWords}`,
      next: "Train a real model: `model: { path: … }` with a Hugging Face folder.",
    });
  return defaultVocabulary([...words].sort());
}
