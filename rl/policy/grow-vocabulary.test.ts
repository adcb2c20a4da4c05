import { expect, it } from "vitest";
import { teamTokens } from "../../env/team/vocabulary.ts";
import { tinyTokenizer } from "../../rollout/tiny-tokenizer.ts";
import { defaultVocabulary, extendVocabulary, piecesOf } from "../../rollout/vocabulary.ts";
import { tinyModel } from "./config.ts";
import { growVocabulary } from "./grow-vocabulary.ts";
import { initPolicy } from "./init.ts";

const small = defaultVocabulary(["what", "is", "fail"]);
const large = extendVocabulary(small, teamTokens);
const [before, after] = [tinyTokenizer(small), tinyTokenizer(large)];

const policyFor = ({ vocabSize, eosIds, padId }: typeof before) =>
  initPolicy(
    tinyModel(
      { layers: 1, hidden: 8, heads: 2, intermediate: 16, contextTokens: 32 } as Parameters<
        typeof tinyModel
      >[0],
      { size: vocabSize, eosIds, padId },
    ),
    1,
  );

it("every token that was there keeps its row; new ones are drawn, the same each time", () => {
  const policy = policyFor(before);
  const grow = () =>
    growVocabulary(policy, {
      from: piecesOf(small),
      to: piecesOf(large),
      ...after,
      eosIds: after.eosIds,
      seed: 1,
    });
  const grown = grow();
  const [old, now] = [policy, grown].map(({ trainable }) => trainable["model.embed_tokens.weight"]!);
  expect(now!.shape).toEqual([after.vocabSize, 8]);
  expect(grown.config).toMatchObject({
    vocabSize: after.vocabSize,
    eosIds: after.eosIds,
    padId: after.padId,
  });
  const row = (data: ArrayLike<number>, id: number) => Array.from(data).slice(id * 8, id * 8 + 8);
  for (const word of ["<eos>", "what", "fail", "bako", "</answer>"]) {
    const ids = [before.encode(word), after.encode(word)];
    for (const [i, id] of ids[0]!.entries()) expect(row(now!.data, ids[1]![i]!)).toEqual(row(old!.data, id));
  }
  const [fresh] = after.encode("<verify>");
  expect(row(now!.data, fresh!).every((value) => Number.isFinite(value) && value !== 0)).toBe(true);
  expect(Array.from(grow().trainable["model.embed_tokens.weight"]!.data)).toEqual(Array.from(now!.data));
  expect(grown.trainable["model.norm.weight"]).toBe(policy.trainable["model.norm.weight"]);
});

it("what is in the vocabulary already is not added again", () => {
  expect(extendVocabulary(large, teamTokens)).toEqual(large);
  expect(large.words.filter((word) => word === "fail")).toHaveLength(1);
  expect(after.encode("<propose> <path> what </path> </propose>")).toHaveLength(5);
});
