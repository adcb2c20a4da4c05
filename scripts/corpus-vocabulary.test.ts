import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { readPassages, readTasks } from "../datasets/jsonl.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import { corpusVocabulary } from "./corpus-vocabulary.ts";

const starter = join(packageRoot(), "configs", "starter");
const corpus = join(starter, "corpus.jsonl");
const { tasks } = await readTasks({ path: join(starter, "questions.jsonl"), normalize: (text) => text });
const tokenizer = tinyTokenizer(await corpusVocabulary(corpus, tasks));
const [unknown] = tokenizer.encode("<unk>");

test("every page, question, query and answer of the starter can be written, word for word", async () => {
  const texts = tasks.flatMap(({ question, goldenAnswers }) => [
    question,
    question.replace("?", ""),
    ...goldenAnswers,
  ]);
  for await (const { title, text } of readPassages(corpus)) texts.push(title, text);
  for (const text of texts) {
    const ids = tokenizer.encode(`<search> ${text} </search>`);
    expect(ids, text).not.toContain(unknown);
    expect(tokenizer.decode(ids)).toBe(`<search> ${text} </search>`);
  }
});

test("other words are <unk>, one token each, and no error", () => {
  expect(tokenizer.encode("Garrow zzz Mill")).toEqual([
    ...tokenizer.encode("Garrow"),
    unknown,
    ...tokenizer.encode("Mill"),
  ]);
});

test("without a corpus there is no vocabulary", async () => {
  await expect(corpusVocabulary(undefined, tasks)).rejects.toThrow(
    /search\.corpus: a tiny model needs the corpus/,
  );
});
