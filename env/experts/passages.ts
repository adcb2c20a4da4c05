import type { Rng } from "../../core/rng.ts";
import type { Passage } from "../../datasets/task.ts";
import type { Observation, Seat } from "../environment.ts";
import { drawIntent, type Habits, type Intent } from "./habits.ts";
import { baseTitle, folded, occurs, plain, sentenceWith } from "./quotes.ts";
import { answerTags, type CountTokens, countWords, said } from "./turns.ts";

/** What a demonstrator for real questions knows: the passages that support the answer, and the answer. */
export interface PassagePlan {
  readonly question: string;
  /** At least one. */
  readonly goldenAnswers: readonly string[];
  /** In hop order where the source knows it; at least one. */
  readonly passages: readonly Passage[];
}

export interface PassageExpertOptions {
  readonly habits: Habits;
  readonly draw: Rng;
  /** Most searches: the environment's turns less one for the answer. Default 3. */
  readonly maxSearches?: number;
  /** Longest quote in words. Default 24. */
  readonly quoteWords?: number;
  readonly count?: CountTokens;
}

export interface PassageExpert extends Seat {
  /** Was it shown every supporting passage, and the answer if any holds it? Other episodes teach to answer without evidence. */
  complete(): boolean;
  /** Did it stop before the evidence because its habits told it to? That is the mistake it was asked to show. */
  stoppedEarly(): boolean;
}

/**
 * A demonstrator for questions with supporting passages but no relations. It asks for the title of a passage only
 * when the title stands in the question or in something it was shown, and else asks the question itself: it knows
 * the answer, but searches for nothing that a policy could not know. It quotes only what it was shown.
 */
export function passageExpert(plan: PassagePlan, options: PassageExpertOptions): PassageExpert {
  const { habits, draw, maxSearches = 3, quoteWords = 24, count = countWords } = options;
  const intent = drawIntent(habits, plan.passages.length, draw);
  const question = plain(plan.question).replace(/\s*\?+$/u, "");
  const asked = new Set<string>();
  const unseen = new Set(plan.passages);
  let shown = ""; // everything observed so far
  let latest: Passage[] = []; // passages that the last observation brought
  let searches = 0;
  let over = false;

  const answer = goldIn(plan);
  const titleOf = (passage: Passage) => baseTitle(passage.title);

  /** The next query that a policy could think of, and undefined when there is nothing new to ask. */
  const nextQuery = (): string | undefined => {
    const known = [...unseen].map(titleOf).filter((title) => occurs(title, question) || occurs(title, shown));
    return [...known, question].find((query) => query !== "" && !asked.has(folded(query)));
  };

  /** A sentence that was shown: at the end the one that holds the answer, before it one that names what comes next. */
  const think = (): string => {
    const next = [...unseen].map(titleOf);
    const read = plan.passages.filter((passage) => !unseen.has(passage) && !latest.includes(passage));
    const holdingAnswer = next.length > 0 ? [] : [...latest, ...read].map((page) => quoteOf(page, [answer]));
    const ofLatest = latest.map(
      (page) => quoteOf(page, [...next, answer, titleOf(page)]) ?? plain(page.text),
    );
    const seen = folded(shown);
    const quote = [...holdingAnswer, ...ofLatest]
      .map((each) => each?.split(" ").slice(0, quoteWords).join(" ") ?? "")
      .find((each) => each !== "" && seen.includes(folded(each)));
    return quote === undefined ? "" : `<think> ${quote} </think> `;
  };
  const quoteOf = ({ text }: Passage, wanted: readonly string[]) => sentenceWith(text, wanted, quoteWords);

  const goOn = () => searches < Math.min(maxSearches, limitOf(intent, plan)) && unseen.size > 0;

  const turn = (): string => {
    const query = goOn() ? nextQuery() : undefined;
    if (query === undefined) {
      over = true;
      const stopped = intent.searches < plan.passages.length && unseen.size > 0;
      const other = titleOf(latest[0] ?? (plan.passages[0] as Passage));
      const last = titleOf([...unseen][0] ?? (plan.passages.at(-1) as Passage));
      const guess = searches === 0 ? other : last;
      const tags = answerTags(intent.answers, stopped ? guess : answer, other);
      return `${think()}${tags}`.trimEnd();
    }
    const bad = searches === intent.badSearch;
    const text = bad ? spoil(question, query, intent.badKind) : query;
    const quote = searches - 1 === intent.badSearch ? "" : think();
    if (!bad) asked.add(folded(query));
    searches++;
    return `${quote}<search> ${text} </search>`;
  };

  return {
    complete: () =>
      unseen.size === 0 && (occurs(answer, shown) || !plan.passages.some(({ text }) => occurs(answer, text))),
    stoppedEarly: () => over && unseen.size > 0 && searches >= limitOf(intent, plan),
    async observe(text) {
      const whole = wholeText(text);
      shown += `\n${whole}`;
      latest = [...unseen].filter((passage) => isIn(passage, whole));
      for (const passage of latest) unseen.delete(passage);
      return { tokens: count(whole), cut: 0 };
    },
    async act() {
      return said(over ? "" : turn(), count);
    },
  };
}

/** A demonstrator that means to go to the end asks as often as it may; one that stops, as often as it means to. */
function limitOf({ searches, badSearch }: Intent, { passages }: PassagePlan): number {
  if (searches >= passages.length) return Number.POSITIVE_INFINITY;
  return searches === 0 ? 0 : searches + (badSearch !== undefined && badSearch < searches ? 1 : 0);
}

/** The first golden answer that the passages hold, else the first: a policy should write what it has read. */
function goldIn({ goldenAnswers, passages }: PassagePlan): string {
  const found = goldenAnswers.find((gold) => passages.some(({ text }) => occurs(gold, text)));
  return plain(found ?? (goldenAnswers[0] as string));
}

/** Was the passage in what was shown? Its first words stand for it: the rest may have been cut. */
function isIn({ text }: Passage, shown: string): boolean {
  const start = folded(text.slice(0, 80)).trim().split(" ").slice(0, 8).join(" ");
  return start !== "" && occurs(start, shown);
}

/** A bad query: the first word of a good one, or the last three of the question. */
function spoil(question: string, query: string, kind: number): string {
  return kind < 0.5 ? (query.split(" ")[0] as string) : question.split(" ").slice(-3).join(" ");
}

function wholeText(text: string | Observation): string {
  return typeof text === "string" ? text : text.open + text.body + text.close;
}
