import { type Rng, rng } from "../core/rng.ts";
import type { Tokenizer } from "../rollout/tokenizer.ts";

const common =
  "amber bridge castle delta engine forest garden harbour island jungle kettle lantern meadow north ocean palace quartz river summit tower under valley winter year zenith who wrote founded born first city film song prize".split(
    " ",
  );

/** Words for random completions: of a common list those that the tokenizer can write, else words of its vocabulary. */
export function wordsFor(tokenizer: Tokenizer): readonly string[] {
  const known = common.filter((word) => writes(tokenizer, word));
  if (known.length > 0) return known;
  const own: string[] = [];
  for (let id = 0; id < tokenizer.vocabSize && own.length < 64; id++) {
    const word = tokenizer.decode([id]).trim();
    if (/^[a-z]+$/i.test(word) && writes(tokenizer, word)) own.push(word);
  }
  return own;
}

function writes(tokenizer: Tokenizer, word: string): boolean {
  try {
    return tokenizer.decode(tokenizer.encode(word)).trim() === word;
  } catch {
    return false;
  }
}

/** Searches after which a random policy answers at the latest. */
const mostSearches = 3;

/** A random turn: a thought, then a search or an answer. */
export function randomTurn(words: readonly string[], seed: number, turn: number): string {
  const draw = rng(seed, "turn", turn);
  const some = (least: number, most: number) =>
    Array.from({ length: least + draw.int(most - least + 1) }, () => draw.pick(words)).join(" ");
  const tag = answers(draw, turn) ? "answer" : "search";
  return `<think> ${some(3, 8)} </think>\n<${tag}> ${some(1, 4)} </${tag}>`;
}

const answers = (draw: Rng, turn: number) => draw() < (turn + 1) / (mostSearches + 1);
