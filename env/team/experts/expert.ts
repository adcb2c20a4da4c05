import { ConfigError } from "../../../core/errors.ts";
import type { Draft, Verdict } from "../message.ts";
import type { RoleName } from "../roles.ts";

/** What a role is shown at one call, beside the task: the entries that it may read (roles.ts), as far as they are there. */
export interface Shown {
  /** From 1. */
  readonly round: number;
  readonly path?: readonly string[];
  readonly constraints?: readonly string[];
  readonly conditions?: readonly string[];
  readonly draft?: Draft;
  readonly verdict?: Verdict;
  /** The call is to compress this text (analyst): it writes a summary in place of conditions. */
  readonly compress?: string;
  /** Who else plays. A role that is off leaves its work to others; absent, all five play. */
  readonly on?: Readonly<Partial<Record<RoleName, boolean>>>;
}

/**
 * A scripted demonstrator in every role's place. It knows the solution, but what a role writes is made from what the
 * role is shown: a drafter follows the path as it is, a verifier judges the draft as it is, also one that a policy wrote.
 */
export interface TeamExpert {
  /**
   * The turns of one call: searches, each ending in `</search>`, then one message of the protocol as the last turn.
   * Pure: the same role and the same `shown` give the same turns, in whatever order calls are made.
   */
  call(role: RoleName, shown: Shown): readonly string[];
}

/** How often each role makes each mistake, per call, in [0, 1]. */
export interface TeamHabits {
  readonly planner: {
    /** Leaves one step out of its first path. */
    readonly skip: number;
    /** Leaves one step out of a revised path. */
    readonly skipAgain: number;
    /** Forgets one constraint. */
    readonly forget: number;
  };
  /** Leaves one condition out. */
  readonly analyst: { readonly miss: number };
  /** Gets one step wrong, and what follows from it. */
  readonly drafter: { readonly slip: number };
  readonly verifier: {
    /** Passes a draft with an error, without looking. */
    readonly rubberStamp: number;
    /** Fails a draft without an error. */
    readonly rejectWrongly: number;
    /** Does not say in which step the error is. */
    readonly unlocated: number;
  };
  /** Changes the conclusion. */
  readonly summarizer: { readonly change: number };
}

/** Demonstrators of the team by name. */
export const teamPresets = {
  /** Makes no mistake: what an expert teammate plays by. */
  clean: {
    planner: { skip: 0, skipAgain: 0, forget: 0 },
    analyst: { miss: 0 },
    drafter: { slip: 0 },
    verifier: { rubberStamp: 0, rejectWrongly: 0, unlocated: 0 },
    summarizer: { change: 0 },
  },
  /** Errors, nearly all of them caught and put right: a warm-up that shows what a revision is for. */
  careful: {
    planner: { skip: 0.4, skipAgain: 0.05, forget: 0.05 },
    analyst: { miss: 0.1 },
    drafter: { slip: 0.15 },
    verifier: { rubberStamp: 0.02, rejectWrongly: 0.02, unlocated: 0.05 },
    summarizer: { change: 0 },
  },
  /** A planner that skips and a verifier that lets it through: what RL can put right. */
  hasty: {
    planner: { skip: 0.6, skipAgain: 0.3, forget: 0.1 },
    analyst: { miss: 0.1 },
    drafter: { slip: 0.1 },
    verifier: { rubberStamp: 0.6, rejectWrongly: 0.05, unlocated: 0.3 },
    summarizer: { change: 0.02 },
  },
} as const satisfies Record<string, TeamHabits>;

export type TeamPreset = keyof typeof teamPresets;

/** @throws ConfigError for a name that is no preset of the team's */
export function teamHabits(name: string): TeamHabits {
  if (Object.hasOwn(teamPresets, name)) return teamPresets[name as TeamPreset];
  throw new ConfigError({
    what: "unknown demonstrators of a team",
    where: "sft.source.habits",
    got: name,
    expected: Object.keys(teamPresets).join(", "),
    next: "Name one of these.",
  });
}
