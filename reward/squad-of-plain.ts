/** What becomes of a sign: its code in lower case in a word; a space; nothing; 0 for a sign that is not plain. */
const [space, nothing] = [32, 1];
const becomes = Uint8Array.from({ length: 128 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (/[0-9A-Za-z]/.test(sign)) return sign.toLowerCase().charCodeAt(0);
  if (/[!-/:-@[-`{-~]/.test(sign)) return nothing;
  return (code >= 9 && code <= 13) || (code >= 28 && code <= 32) ? space : 0;
});

/** Where a text is written; longer ones take the general way. */
const letters = Buffer.alloc(1 << 16);

/**
 * `squad` of a text of ASCII letters, digits, punctuation and white space, in one pass: there words end at spaces and
 * nowhere else. Undefined for every other text, which the general rule must read.
 */
export function squadOfPlain(text: string): string | undefined {
  const { length } = text;
  if (length >= letters.length) return undefined;
  let n = 0; // letters written
  let word = 0; // how many of them stand before the word under way
  for (let i = 0; i <= length; i++) {
    const code = i < length ? text.charCodeAt(i) : space;
    const letter = code < 128 ? (becomes[code] as number) : 0;
    if (letter === 0) return undefined;
    if (letter === nothing) continue;
    if (letter !== space) letters[n++] = letter;
    else if (isArticle(word, n)) n = word;
    else if (n > word) {
      letters[n++] = space;
      word = n;
    }
  }
  return n === 0 ? "" : letters.toString("latin1", 0, n - 1);
}

const [a, e, h, nn, t] = Buffer.from("aehnt");

/** Is the word from `at` to `end` "a", "an" or "the"? */
function isArticle(at: number, end: number): boolean {
  if (end === at + 3) return letters[at] === t && letters[at + 1] === h && letters[at + 2] === e;
  return letters[at] === a && (end === at + 1 || (end === at + 2 && letters[at + 1] === nn));
}
