/** Text without our tags, white space collapsed: what may be written inside one of them. */
export function plain(text: string): string {
  return text
    .replace(/<\/?(?:think|search|answer|information|question)>/giu, " ")
    .replace(/\s+/gu, " ")
    .trim();
}

/** Lower case, letters and digits only, one space between words and at both ends: for "does it occur as words". */
export function folded(text: string): string {
  return ` ${(
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  ).join(" ")} `;
}

/** Does `part` occur in `whole` as whole words, case and punctuation aside? Nothing occurs nowhere. */
export function occurs(part: string, whole: string): boolean {
  const words = folded(part);
  return words.trim() !== "" && folded(whole).includes(words);
}

/** A title without its disambiguation: "The Box (2009 film)" → "The Box". */
export function baseTitle(title: string): string {
  return plain(title.replace(/\s*\([^()]*\)\s*$/u, "")) || plain(title);
}

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });
/** After these a full stop ends no sentence: initials and common abbreviations. */
const abbreviation = /(?:^|[\s("])(?:\p{Lu}|St|Mr|Mrs|Ms|Dr|Jr|Sr|No|vs)\.$/u;

/** The sentences of a text, each plain. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = [];
  for (const { segment } of segmenter.segment(plain(text))) {
    const last = sentences.at(-1);
    if (last !== undefined && abbreviation.test(last)) sentences.splice(-1, 1, `${last} ${segment.trim()}`);
    else sentences.push(segment.trim());
  }
  return sentences;
}

/** The first sentence of `text` that holds one of `wanted` (tried in order), at most `maxWords` words around it. */
export function sentenceWith(text: string, wanted: readonly string[], maxWords: number): string | undefined {
  const sentences = sentencesOf(text);
  for (const part of wanted) {
    const sentence = sentences.find((each) => occurs(part, each));
    if (sentence !== undefined) return windowAround(sentence, part, maxWords);
  }
  return undefined;
}

function windowAround(sentence: string, part: string, maxWords: number): string {
  const words = sentence.split(" ");
  if (words.length <= maxWords) return sentence;
  const upTo = words.findIndex((_, i) => occurs(part, words.slice(0, i + 1).join(" ")));
  const from = Math.max(0, Math.min(upTo - Math.floor(maxWords * 0.75), words.length - maxWords));
  return words.slice(from, from + maxWords).join(" ");
}
