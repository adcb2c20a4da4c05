import { lengthPays, unansweredEarns, wrongOverRight } from "./lab-answers.ts";
import { type Change, ChangeTally } from "./lab-change.ts";
import { type BestFlip, LargestMoves, type MovedAdvantage, WidestFlips } from "./lab-examples.ts";
import type { Finding, MakeWatch, Watch } from "./lab-finding.ts";
import { type Both, type LabGroup, marksOf, type Side } from "./lab-group.ts";
import { amplifiedDifferences, constantParts, flatGroups } from "./lab-spread.ts";
import { type StepChange, trends } from "./lab-trends.ts";

export interface LabOptions {
  /** Parts that decide something under either reward. */
  readonly counting: Both<readonly string[]>;
  /** Examples kept of each kind. */
  readonly examples: number;
}

/** What another reward changes, and what is to be known about it. */
export interface Findings {
  readonly all: Change;
  /** In the order of steps. */
  readonly steps: readonly StepChange[];
  readonly largest: readonly MovedAdvantage[];
  readonly flips: readonly BestFlip[];
  readonly warnings: readonly Warning[];
  /** Episodes that are not compared, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

export interface Warning extends Finding {
  /** Which rewards it is true of; its words are the new one's where that is among them. */
  readonly of: "both" | "new" | "own";
}

const watches: readonly MakeWatch[] = [
  constantParts,
  amplifiedDifferences,
  wrongOverRight,
  unansweredEarns,
  lengthPays,
  flatGroups,
];

/** Ids shown of questions that no reward can score. */
const shownIds = 5;

/**
 * Compares two rewards on the same groups, one group at a time. It holds sums, a row a step, and a few examples: memory
 * does not grow with the episodes. Pure: no inference, no clock, no draw.
 */
export class RewardLab {
  readonly #options: LabOptions;
  readonly #all = new ChangeTally();
  readonly #steps = new Map<number, ChangeTally>();
  readonly #largest: LargestMoves;
  readonly #flips: WidestFlips;
  readonly #watches: Both<readonly Watch[]>;
  readonly #leftOut = new Map<string, number>();
  readonly #emptyGold = new Set<string>();
  readonly #droppedAliases = new Set<string>();

  constructor(options: LabOptions) {
    this.#options = options;
    this.#largest = new LargestMoves(options.examples);
    this.#flips = new WidestFlips(options.examples);
    const made = (side: Side) => watches.map((make) => make(options.counting[side]));
    this.#watches = { before: made("before"), after: made("after") };
  }

  add(group: LabGroup): void {
    this.#all.add(group);
    let step = this.#steps.get(group.step);
    if (!step) {
      step = new ChangeTally();
      this.#steps.set(group.step, step);
    }
    step.add(group);
    this.#largest.add(group);
    this.#flips.add(group);
    for (const side of ["before", "after"] as const) {
      const watched = { marks: marksOf(group, side), lesson: group.lessons?.[side] };
      for (const watch of this.#watches[side]) watch.add(watched);
    }
  }

  /** Episodes that are not compared, and why. */
  leave(reason: string, episodes: number): void {
    if (episodes > 0) this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + episodes);
  }

  /** A question with gold answers that the new normaliser leaves nothing of; `left` of them stay. */
  emptyGold(taskId: string, left: number): void {
    (left === 0 ? this.#emptyGold : this.#droppedAliases).add(taskId);
  }

  findings(): Findings {
    const steps = [...this.#steps]
      .sort(([a], [b]) => a - b)
      .map(([step, tally]): StepChange => ({ step, ...tally.change() }));
    const of = (side: Side) => [
      ...this.#watches[side].flatMap((watch) => watch.findings()),
      ...trends(steps, side, this.#options.counting[side]),
    ];
    return {
      all: this.#all.change(),
      steps,
      largest: this.#largest.list(),
      flips: this.#flips.list(),
      warnings: [...this.#goldWarnings(), ...merged(of("before"), of("after"))],
      leftOut: Object.fromEntries(this.#leftOut),
    };
  }

  #goldWarnings(): Warning[] {
    const told = (ids: ReadonlySet<string>) =>
      `${[...ids].slice(0, shownIds).join(", ")}${ids.size > shownIds ? ", …" : ""}`;
    const [none, some] = [this.#emptyGold, this.#droppedAliases];
    return [
      ...(none.size > 0
        ? [
            {
              ...{ kind: "emptyGold", of: "new" as const },
              text: `${none.size} questions are left without a gold answer: the normaliser makes nothing of them (${told(none)})`,
            },
          ]
        : []),
      ...(some.size > 0
        ? [
            {
              ...{ kind: "emptyAlias", of: "new" as const },
              text: `${some.size} questions lose a gold answer that normalises to nothing (${told(some)})`,
            },
          ]
        : []),
    ];
  }
}

/** What is true of the new reward first; what was true of the run's own alone last. */
function merged(own: readonly Finding[], fresh: readonly Finding[]): Warning[] {
  const key = ({ kind, part }: Finding) => `${kind} ${part ?? ""}`;
  const [ownKeys, freshKeys] = [new Set(own.map(key)), new Set(fresh.map(key))];
  return [
    ...fresh.map((each) => ({ ...each, of: ownKeys.has(key(each)) ? ("both" as const) : ("new" as const) })),
    ...own.filter((each) => !freshKeys.has(key(each))).map((each) => ({ ...each, of: "own" as const })),
  ];
}
