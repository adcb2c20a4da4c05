import type { Normalizer } from "../normalize.ts";
import { hasWords } from "../process.ts";

/** Words that say nothing of what a question is about; articles are gone once it is normalised. */
const frame = new Set(
  (
    "what who whom whose which where when why how many much is are was were be been do does did has have had will " +
    "can of in on at to from by for with and or as that this it its me tell name give find s"
  ).split(" "),
);

/** Words of a normalised text that carry its meaning, each once. */
export const terms = (normal: string): string[] => [
  ...new Set(normal.split(" ").filter((word) => word !== "" && !frame.has(word))),
];

/** Answers that stand in no text of their own. */
const closed = new Set(["yes", "no", "noanswer"]);

/**
 * Does `backward` put the answer back into the question? It holds the answer as whole words (yes and no need not stand
 * there) and at least one of the question's own terms that is not part of the answer; and it is no copy of `forward`, of
 * the question, or of the draft's steps. Whether what it says holds is for the audit: words cannot tell.
 */
export function putsBack(
  backward: string,
  o: {
    readonly forward: string;
    readonly question: string;
    readonly answer: string;
    readonly steps: string;
  },
  normalizer: Normalizer,
): boolean {
  const [text, forward, question, answer, steps] = [
    ...[backward, o.forward, o.question, o.answer, o.steps].map((each) => normalizer.normalize(each)),
  ] as [string, string, string, string, string];
  if (text === "" || text === forward || text === question || text === steps || answer === "") return false;
  if (!closed.has(answer) && !hasWords(text, answer)) return false;
  const asked = terms(question).filter((term) => !hasWords(answer, term));
  return asked.length === 0 || asked.some((term) => hasWords(text, term));
}

/**
 * Does `step` name one of the items? By its number from 1 ("2", "step 2"), by words that stand in it, or by a text that
 * holds it. A text that fits every one of several items names none.
 */
function names(step: string, items: readonly string[], normalizer: Normalizer): boolean {
  const named = normalizer.normalize(step);
  const number = /^(?:step )?(\d+)$/u.exec(named)?.[1];
  const normal = items.map((item) => normalizer.normalize(item)).filter((item) => item !== "");
  if (number !== undefined && Number(number) >= 1 && Number(number) <= normal.length) return true;
  if (terms(named).length === 0) return false;
  const fitting = normal.filter((item) => hasWords(item, named) || hasWords(named, item));
  return fitting.length > 0 && (fitting.length < normal.length || normal.length === 1);
}

/**
 * Does a rejection's `step` say where the error is? It names a step of the path or of the draft, or one that is missing
 * from both and that the question asks for. A text that holds all that the question asks names no step.
 */
export function locates(
  step: string,
  o: { readonly path: readonly string[]; readonly steps: string; readonly question: string },
  normalizer: Normalizer,
): boolean {
  const asked = terms(normalizer.normalize(o.question));
  const named = terms(normalizer.normalize(step));
  if (asked.length > 1 && asked.every((term) => named.includes(term))) return false;
  return (
    names(step, o.path, normalizer) ||
    names(step, stepsOf(o.steps), normalizer) ||
    (named.length > 0 && named.every((term) => asked.includes(term)))
  );
}

/** Steps of a draft: one a line, or with `;` between them. */
const stepsOf = (steps: string): string[] => steps.split(/[;\n]/u).filter((step) => step.trim() !== "");
