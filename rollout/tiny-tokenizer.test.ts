import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DataError } from "../core/errors.ts";
import { tinyTokenizer } from "./tiny-tokenizer.ts";
import { checkVocabulary, defaultSyllables, defaultVocabulary, specialTokens } from "./vocabulary.ts";

const vocabulary = defaultVocabulary(["star", "what", "is", "the", "of", "?", "'s", ":", ".", "name"]);
const tokenizer = tinyTokenizer(vocabulary);

describe("tiny tokenizer", () => {
  test("tags and words are one token, a name two or three", () => {
    const ids = tokenizer.encode("<search> star zoriba </search>");
    expect(ids).toHaveLength(6);
    expect(tokenizer.decode(ids)).toBe("<search> star zoriba </search>");
    expect(tokenizer.encode("<search>star zoriba</search>")).toEqual(ids);
    expect(tokenizer.encode(" <search>\n star  zoriba </search>")).toEqual(ids);
  });

  test("the ids are special, words, initial and continued syllables", () => {
    expect(tokenizer.vocabSize).toBe(12 + 10 + 48 + 48);
    expect(tokenizer.encode("<pad><eos>")).toEqual([0, 1]);
    expect(tokenizer.eosIds).toEqual([1]);
    expect(tokenizer.padId).toBe(0);
    const [first, second] = tokenizer.encode("baba") as [number, number];
    expect(second - first).toBe(48);
  });

  test("decode(encode(text)) gives the text back for any words, names and tags", () => {
    const name = fc
      .array(fc.constantFrom(...defaultSyllables), { minLength: 1, maxLength: 4 })
      .map((syllables) => syllables.join(""));
    const piece = fc.oneof(fc.constantFrom<string>(...specialTokens, ...vocabulary.words), name);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(tokenizer.decode(tokenizer.encode(pieces.join(" ")))).toBe(pieces.join(" "));
      }),
    );
  });

  test("whatever a policy samples decodes to text that can be encoded, and grows by appending", () => {
    const ids = fc.array(fc.integer({ min: 0, max: tokenizer.vocabSize - 1 }), { maxLength: 20 });
    fc.assert(
      fc.property(ids, ids, (head, tail) => {
        const text = tokenizer.decode([...head, ...tail]);
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
        expect(text.startsWith(tokenizer.decode(head))).toBe(true);
      }),
    );
  });

  test("an unknown word is an error that names it, or <unk> where the vocabulary has one", () => {
    expect(() => tokenizer.encode("what is Paris ?")).toThrow(DataError);
    expect(() => tokenizer.encode("what is Paris ?")).toThrow(/"Paris" is not in the vocabulary/);
    expect(() => tokenizer.encode("bab")).toThrow(/"bab"/);
    const lenient = tinyTokenizer({ ...vocabulary, special: [...vocabulary.special, "<unk>"] });
    expect(lenient.decode(lenient.encode("what is Paris baXY ?"))).toBe("what is <unk> <unk> ?");
  });

  test("the fingerprint follows the ids", () => {
    expect(tinyTokenizer(defaultVocabulary([...vocabulary.words].reverse())).fingerprint).toBe(
      tokenizer.fingerprint,
    );
    expect(tinyTokenizer(defaultVocabulary(["star"])).fingerprint).not.toBe(tokenizer.fingerprint);
  });

  test("a malformed vocabulary is a DataError that says where", () => {
    expect(() => checkVocabulary({ special: [], words: [] }, "m/vocabulary.json")).toThrow(/m\/vocabulary/);
    expect(() => checkVocabulary({ ...vocabulary, syllables: ["abc"] })).toThrow(/two characters/);
    expect(() => checkVocabulary({ ...vocabulary, words: ["a", "a"] })).toThrow(/"a" is listed twice/);
    expect(() => checkVocabulary({ ...vocabulary, words: ["x<eos>"] })).toThrow(/contains a special token/);
    expect(() => checkVocabulary({ ...vocabulary, special: ["<pad>"] })).toThrow(/<eos> is missing/);
  });
});
