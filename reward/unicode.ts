/**
 * Python's idea of text, pinned to Unicode 14 (Python 3.11): Node's own tables are newer and move with its version,
 * and a score must not depend on the version of Node. Checked against CPython over all code points.
 */

/**
 * Letters, digits, and signs that letter case looks through, new since Unicode 14 (up to 17): unknown to Python 3.11.
 * Ranges run over code points that are unassigned in 14 anyway.
 */
const newer =
  "\\u088F\\u0897\\u0C5C\\u0CDC\\u0ECE\\u1ACF-\\u1AEB\\u1C89-\\u1C8A\\uA7CB-\\uA7CF\\uA7D2\\uA7D4" +
  "\\uA7DA-\\uA7F1\\u{105C0}-\\u{105F3}\\u{10940}-\\u{10959}\\u{10D40}-\\u{10D85}\\u{10EC2}-\\u{10EFF}" +
  "\\u{1123F}-\\u{11241}\\u{11380}-\\u{113E2}\\u{116D0}-\\u{116E3}\\u{11B60}-\\u{11BF9}" +
  "\\u{11DB0}-\\u{11DE9}\\u{11F00}-\\u{11F5A}\\u{1342F}\\u{13439}-\\u{143FA}\\u{16100}-\\u{16139}" +
  "\\u{16D40}-\\u{16D79}\\u{16EA0}-\\u{16ED3}\\u{16FF2}-\\u{16FF6}\\u{187F8}-\\u{187FF}\\u{18CFF}" +
  "\\u{18D09}-\\u{18DF2}\\u{1B132}\\u{1B155}\\u{1CCF0}-\\u{1CCF9}\\u{1D2C0}-\\u{1D2D3}\\u{1DF25}-\\u{1DF2A}" +
  "\\u{1E030}-\\u{1E08F}\\u{1E4D0}-\\u{1E6FF}\\u{2B739}-\\u{2B73F}\\u{2CEA2}-\\u{2CEAD}" +
  "\\u{2EBF0}-\\u{2EE5D}\\u{31350}-\\u{33479}";

/** Source of a character class (flag `v`) equal to Python's `\w`; JavaScript's own `\w` and `\b` are ASCII only. */
export const wordClass = `[[\\p{L}\\p{N}_]--[${newer}]]`;

/** What Python's `str.split()` splits on: unlike JavaScript's `\s`, U+001C to U+001F and U+0085 but not U+FEFF. */
const space = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const spaces = new RegExp(`[${space}]+`, "u");

const hasNewer = new RegExp(`[${newer}]`, "v");
const runs = new RegExp(`[^${newer}]+`, "gv");

/** Python's `str.lower()`: letters newer than Unicode 14 stay, the rest is as in JavaScript (final sigma, "İ"). */
export function lower(text: string): string {
  if (text.includes("Σ"))
    for (const [changed, standIns] of changedBesideSigma)
      if (text.includes(changed)) return lowerWithout(text, changed, standIns);
  return hasNewer.test(text) ? text.replace(runs, (run) => run.toLowerCase()) : text.toLowerCase();
}

/**
 * Whether a sigma is a final one hangs on the signs around it, and two have changed their nature since Unicode 14: ʕ was
 * a lower-case letter, U+1171E a mark that is looked through. Signs that are the same for good can stand in for them.
 */
const changedBesideSigma: readonly (readonly [string, readonly string[]])[] = [
  ["ʕ", [..."ʖʗʘʙʚʛʜʟʠʡʢ"]],
  ["\u{1171e}", [..."\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0308\u0309\u030a\u030b"]],
];

function lowerWithout(text: string, changed: string, standIns: readonly string[]): string {
  const standIn = standIns.find((sign) => !text.includes(sign));
  if (standIn === undefined) return text.toLowerCase();
  return lower(text.replaceAll(changed, standIn)).replaceAll(standIn, changed);
}

/** Python's `str.split()`: words between runs of white space, no empty ones. */
export function splitWords(text: string): string[] {
  return text.split(spaces).filter((word) => word !== "");
}

/** Decomposes since Unicode 16, and neither letter nor digit: outlined capitals. */
const newerForms = `${newer}\\u{1CCD6}-\\u{1CCEF}`;
const hasNewerForms = new RegExp(`[${newerForms}]`, "v");
const formRuns = new RegExp(`[^${newerForms}]+`, "gv");

/** Python's `unicodedata.normalize("NFKC", …)`: characters newer than Unicode 14 stay and combine with nothing. */
export function nfkc(text: string): string {
  return hasNewerForms.test(text)
    ? text.replace(formRuns, (run) => run.normalize("NFKC"))
    : text.normalize("NFKC");
}
