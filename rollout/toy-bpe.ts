/**
 * A byte-level BPE tokenizer of about 300 tokens in Hugging Face's file format, made here by counting pairs, so
 * that tests of the real path need no download.
 */
export function toyTokenizerJson(text: string, merges = 40, special: readonly string[] = toySpecial): object {
  const bytes = [...byteToChar().values()];
  const words = (text.match(/ ?[^\s]+|\s/gu) ?? []).map((word) =>
    [...new TextEncoder().encode(word)].map((byte) => byteToChar().get(byte) as string),
  );
  const pairs: [string, string][] = [];
  for (let i = 0; i < merges; i++) {
    const best = mostFrequentPair(words);
    if (best === undefined) break;
    pairs.push(best);
    for (const word of words) mergeInPlace(word, best);
  }
  const pieces = [...special, ...bytes, ...pairs.map(([a, b]) => a + b)];
  return {
    version: "1.0",
    added_tokens: special.map((content, id) => ({ id, content, normalized: false, special: true })),
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges: pairs,
      ignore_merges: false,
    },
  };
}

export const toySpecial: readonly string[] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];

/** GPT-2's printable stand-in for each byte. */
function byteToChar(): Map<number, string> {
  const printable = (b: number) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return new Map(
    Array.from({ length: 256 }, (_, byte) => [byte, String.fromCharCode(printable(byte) ? byte : next++)]),
  );
}

function mostFrequentPair(words: readonly string[][]): [string, string] | undefined {
  const counts = new Map<string, number>();
  for (const word of words)
    for (let i = 1; i < word.length; i++) {
      const key = `${word[i - 1]} ${word[i]}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  let best: string | undefined;
  for (const [key, count] of counts) {
    const most = best === undefined ? 1 : (counts.get(best) as number);
    if (count > most) best = key;
  }
  return best?.split(" ") as [string, string] | undefined;
}

function mergeInPlace(word: string[], [left, right]: readonly [string, string]): void {
  for (let i = 1; i < word.length; i++)
    if (word[i - 1] === left && word[i] === right) word.splice(i - 1, 2, left + right);
}
