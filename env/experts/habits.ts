import { ConfigError } from "../../core/errors.ts";
import type { Rng } from "../../core/rng.ts";

/** How often a demonstrator makes each mistake, per episode, in [0, 1]. */
export interface Habits {
  /** Answers at once, without a search, with the entity that the question names. */
  readonly guess: number;
  /** Answers with an entity found on the way; by the question's hops: [2] for two, [3] for three and more. */
  readonly early: { readonly 2: number; readonly 3: number };
  /** Gives two answers, the found one and the one before, in either order. */
  readonly doubleAnswer: number;
  /** Ends without an answer. */
  readonly noAnswer: number;
  /** Once asks a bad query, and does not think about what comes back. */
  readonly badQuery: number;
  /** Stops after one, two or three searches whatever the question, going on past the answer if need be. */
  readonly randomStop: number;
}

const slips = { guess: 0.04, doubleAnswer: 0.06, noAnswer: 0.04, badQuery: 0.08 };
const never = { guess: 0, doubleAnswer: 0, noAnswer: 0, badQuery: 0 };

/** Demonstrators by name. */
export const expertPresets = {
  /** Makes no mistake: what a policy learns reading from. */
  clean: { ...never, early: { 2: 0, 3: 0 }, randomStop: 0 },
  /** Two times in three stops at something found on the way: what RL can put right. */
  hasty: { ...slips, early: { 2: 0.65, 3: 0.7 }, randomStop: 0 },
  /** Its stops say nothing about the question: RL then collapses into one search for everything. */
  random: { ...slips, early: { 2: 0, 3: 0 }, randomStop: 1 },
} as const satisfies Record<string, Habits>;

export type ExpertPreset = keyof typeof expertPresets;

/** @throws ConfigError for a name that is no preset. */
export function expertHabits(name: string): Habits {
  if (Object.hasOwn(expertPresets, name)) return expertPresets[name as ExpertPreset];
  throw new ConfigError({
    what: "unknown demonstrators",
    got: name,
    expected: Object.keys(expertPresets).join(", "),
    next: "Name one of these.",
  });
}

/** What a demonstrator will do in one episode of `hops` hops. */
export interface Intent {
  /** Searches before it stops; 0 is a guess. May be more than `hops`. */
  readonly searches: number;
  readonly answers: "one" | "two" | "two, the found one last" | "none";
  /** Which search is a bad one, if any. */
  readonly badSearch: number | undefined;
  /** How to spoil that search: in [0, 1). */
  readonly badKind: number;
}

/** Draws a fixed number of random numbers whatever the habits, so that presets differ only where they differ. */
export function drawIntent(habits: Habits, hops: number, draw: Rng): Intent {
  const happens = (share: number) => draw() < share;
  const guess = happens(habits.guess);
  const early = happens(hops < 2 ? 0 : hops === 2 ? habits.early[2] : habits.early[3]);
  const earlyStop = 1 + draw.int(Math.max(1, hops - 1));
  const random = happens(habits.randomStop);
  const randomStop = 1 + draw.int(3);
  const two = happens(habits.doubleAnswer);
  const foundLast = happens(0.5);
  const none = happens(habits.noAnswer);
  const bad = happens(habits.badQuery);
  const badSearch = draw.int(Math.max(1, hops));
  const badKind = draw();
  return {
    searches: guess ? 0 : random ? randomStop : early ? earlyStop : hops,
    answers: none ? "none" : two ? (foundLast ? "two, the found one last" : "two") : "one",
    badSearch: bad ? badSearch : undefined,
    badKind,
  };
}
