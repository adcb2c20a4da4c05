import { createHash } from "node:crypto";
import { DataError } from "../core/errors.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { checkVocabulary, type Vocabulary } from "./vocabulary.ts";

/**
 * Words and syllables of a small closed world. Tags and known words are one token each; any other word is cut
 * into two-letter syllables, a word-initial one and continuations, so that names nobody has seen can be written.
 * `encode` throws DataError at a word it cannot write, unless the vocabulary has `<unk>`.
 */
export function tinyTokenizer(source: Vocabulary, where = "vocabulary"): Tokenizer {
  const { special, words, syllables } = checkVocabulary(source, where);
  const whole = new Map([...special, ...words].map((piece, id) => [piece, id]));
  const firstInitial = whole.size;
  const firstContinuation = firstInitial + syllables.length;
  const vocabSize = firstContinuation + syllables.length;
  const syllableIndex = new Map(syllables.map((s, i) => [s, i]));
  const surface = [...special, ...words, ...syllables, ...syllables]; // [vocabSize]
  const unknown = whole.get("<unk>");
  // Longest tag first, so that no tag hides a longer one.
  const byLength = [...special].sort((a, b) => b.length - a.length);
  const tagPattern = new RegExp(`(${byLength.map(escapeRegExp).join("|")})`, "u");

  const encodeWord = (word: string, out: number[]): void => {
    const id = whole.get(word);
    if (id !== undefined) {
      out.push(id);
      return;
    }
    const start = out.length;
    for (let at = 0; at < word.length; at += 2) {
      const syllable = syllableIndex.get(word.slice(at, at + 2));
      if (syllable !== undefined) {
        out.push((at === 0 ? firstInitial : firstContinuation) + syllable);
        continue;
      }
      if (unknown === undefined) throw cannotWrite(word, where);
      out.length = start;
      out.push(unknown);
      return;
    }
  };

  return {
    fingerprint: createHash("sha256").update(JSON.stringify({ special, words, syllables })).digest("hex"),
    vocabSize,
    eosIds: [whole.get("<eos>") as number],
    padId: whole.get("<pad>") as number,
    encode(text) {
      const out: number[] = [];
      for (const part of text.split(tagPattern))
        for (const word of part.split(/\s+/u)) if (word !== "") encodeWord(word, out);
      return out;
    },
    decode(ids) {
      const pieces: string[] = []; // joined at the end: a long chain of += keeps every link alive and slow
      let afterSyllable = false; // A continuation joins only a syllable: glued to a word it could not be read back.
      for (const id of ids) {
        const piece = surface[id];
        if (piece === undefined) continue;
        if (pieces.length > 0 && !(id >= firstContinuation && afterSyllable)) pieces.push(" ");
        pieces.push(piece);
        afterSyllable = id >= firstInitial;
      }
      return pieces.join("");
    },
  };
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");
}

function cannotWrite(word: string, where: string): DataError {
  return new DataError({
    where,
    what: `the word "${word.length > 60 ? `${word.slice(0, 60)}…` : word}" is not in the vocabulary`,
    expected: "words of the vocabulary, or names made of its two-letter syllables, with spaces between words",
    next: "Use a model folder with a full tokenizer (tokenizer.json) for your own text, or add the word to vocabulary.json and train from there.",
  });
}
