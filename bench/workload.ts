import { rng } from "../core/rng.ts";
import type { Passage, Task } from "../datasets/task.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import type { Renderer, Tokenizer } from "../rollout/tokenizer.ts";
import { defaultVocabulary } from "../rollout/vocabulary.ts";
import { parseStubScript, type StubScript } from "../serve/stub-script.ts";

export const turnsPerEpisode = 3;

const words = Array.from({ length: 3000 }, (_, i) => `w${i.toString(36)}`);

/** The same texts for every harness: 64 questions, 2,000 passages of 100 words, turns of about 40 words. */
function makeWorkload() {
  const draw = rng(1, "bench", "rollout");
  const say = (n: number) => Array.from({ length: n }, () => draw.pick(words)).join(" ");
  const passages: Passage[] = Array.from({ length: 2000 }, (_, i) => ({
    id: `p${i}`,
    title: say(3),
    text: say(100),
  }));
  const questions = Array.from({ length: 64 }, (_, i) => ({
    id: `q${i}`,
    question: say(8),
    turns: [
      `<think> ${say(35)} </think>\n<search> ${say(3)} </search>`,
      `<think> ${say(35)} </think>\n<search> ${say(3)} </search>`,
      `<think> ${say(35)} </think>\n<answer> ${say(2)} </answer>`,
    ],
  }));
  return { passages, questions };
}

export const workload = makeWorkload();

export const tasks: readonly Task[] = workload.questions.map(({ id, question }) => ({
  id,
  question,
  goldenAnswers: ["x"],
  dataset: "bench",
  hops: 1,
}));

/** One token a word. */
export const tokenising: Tokenizer = tinyTokenizer(defaultVocabulary(words));

/** Computes each text and each list of ids once. */
export function remembering(inner: Tokenizer): Tokenizer {
  const ids = new Map<string, number[]>();
  const texts = new WeakMap<readonly number[], string>();
  return {
    ...inner,
    encode(text) {
      const known = ids.get(text) ?? inner.encode(text);
      ids.set(text, known);
      return known;
    },
    decode(list) {
      const known = texts.get(list) ?? inner.decode(list);
      texts.set(list, known);
      return known;
    },
  };
}

export const rendererOf = (tokenizer: Tokenizer): Renderer => ({
  prompt: (question) => tokenizer.encode(`<question> ${question} </question>`),
  observation: (text) => text,
});

/** What a stub server says: the turns of the question that stands in the prompt. */
export function stubScript(): StubScript {
  const lines = workload.questions.flatMap(({ question, turns }) =>
    turns.map((say, turn) => ({ question: `^${question}$`, turn, say })),
  );
  return parseStubScript({ questionMark: "<question>", lines });
}
