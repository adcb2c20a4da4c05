/** The smallest task there is, for tests of training: of eight words, say the one that the question names. */
import type { Environment } from "../env/environment.ts";
import { toyTask } from "../reward/testing.ts";
import { tinyTokenizer } from "../rollout/tiny-tokenizer.ts";
import { tinyModel, tinySchema } from "./policy/config.ts";

export const words = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"];
export const tokenizer = tinyTokenizer({ special: ["<pad>", "<eos>"], words, syllables: [] });
export const renderer = {
  prompt: (question: string) => tokenizer.encode(question),
  observation: (text: string) => text,
};
export const parrot: Environment = {
  name: "parrot",
  seats: ["parrot"],
  async play(_question, seats) {
    await seats.parrot!.act({ stop: [], maxTokens: 1 });
    return { outcome: "answered", turns: 1, searches: [], invalidActions: 0, observationTokensCut: 0 };
  },
};
export const shape = tinyModel(
  tinySchema.parse({ layers: 1, hidden: 16, heads: 2, intermediate: 16, contextTokens: 16 }),
  { size: tokenizer.vocabSize, eosIds: tokenizer.eosIds, padId: tokenizer.padId },
);

/** Every word in every batch. */
export const source = {
  batch: () => words.map((word) => ({ ...toyTask, id: word, question: word, goldenAnswers: [word] })),
};
