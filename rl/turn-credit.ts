import { InvariantError } from "../core/errors.ts";
import { zip } from "../core/zip.ts";
import type { Scored, Scorer } from "../reward/scored.ts";
import type { RlConfig } from "./config.ts";
import type { Lesson } from "./rows.ts";

type Turns = NonNullable<Lesson["turnAdvantages"]>;

/** The scorer that also says what each turn was worth. @throws InvariantError for one that cannot */
export function crediting(score: Scorer): Scorer {
  const credited = score.withTurnCredits?.();
  if (credited) return credited;
  throw new InvariantError({
    what: "turns are to be credited by a scorer that scores episodes alone",
    where: "rl.turnCredit",
    next: "Set rl.turnCredit to 0, or use a scorer with `withTurnCredits`, such as makeScorer's.",
  });
}

/**
 * What the credits of a group's turns add to their advantages, [G][sequences][policy segments]: weight · (credit − b).
 * The baseline b is the mean over all turns of all members, as of the steps' rewards in GRPO with process supervision
 * (DeepSeekMath, arXiv 2402.03300, § 4.1.3), so the terms of a group sum to 0; unlike there they are not divided by the standard
 * deviation and not summed over later turns. An outcome's advantage for the whole episode plus one for the turn by itself is MT-GRPO
 * (arXiv 2505.11821). Not the mean of an episode's own turns: it would take away what a whole episode found more than
 * another. Exactly 0 where all credits are equal.
 */
export function turnTerms(members: readonly Scored[], weight: number): Turns {
  const credits = members.map(checkedCredits);
  const all = credits.flat(2);
  const equal = all.every((credit) => credit === all[0]);
  const mean = all.reduce((sum, credit) => sum + credit, 0) / Math.max(1, all.length);
  return credits.map((sequences) =>
    sequences.map((turns) => turns.map((credit) => (equal ? 0 : weight * (credit - mean)))),
  );
}

/** Advantages of a group by turn, where `turnCredit` asks for them: each member's, plus its turns' terms. */
export function creditTurns(
  { turnCredit }: Pick<RlConfig, "turnCredit">,
  advantages: readonly number[],
  members: readonly Scored[],
): { readonly turnAdvantages?: Turns } {
  if (turnCredit === 0) return {};
  const terms = turnTerms(members, turnCredit);
  return {
    turnAdvantages: zip(terms, advantages).map(([sequences, advantage]) =>
      sequences.map((turns) => turns.map((term) => advantage + term)),
    ),
  };
}

/**
 * Of a step whose turns are credited: `turn_credit`, the mean over the turns of all scored episodes, and
 * `turn_credit_flip_frac`, the share of the tokens learned from whose advantage has another sign than its episode's.
 * Nothing where there was no turn, or no token.
 */
export function turnCreditMetrics(
  { turnCredit, overlong }: Pick<RlConfig, "turnCredit" | "overlong">,
  scored: readonly Scored[],
  learning: readonly Lesson<Scored>[],
): Record<string, number> {
  if (turnCredit === 0) return {};
  const credits = scored.flatMap(checkedCredits).flat();
  const { tokens, flipped } = flips(learning, overlong === "mask");
  return {
    ...(credits.length > 0 && { turn_credit: credits.reduce((a, b) => a + b, 0) / credits.length }),
    ...(tokens > 0 && { turn_credit_flip_frac: flipped / tokens }),
  };
}

/** Tokens that are learned from, and those of them whose turn's advantage has another sign than its episode's. */
export function flips(
  learning: readonly Lesson[],
  maskCut: boolean,
): { readonly tokens: number; readonly flipped: number } {
  let [tokens, flipped] = [0, 0];
  for (const { group, advantages, turnAdvantages } of learning)
    group.members.forEach(({ sequences, outcome }, i) => {
      if (maskCut && outcome === "length") return;
      sequences.forEach(({ segments }, s) => {
        let turn = 0;
        segments.forEach(({ source, tokens: { length } }, at) => {
          if (source !== "policy") return;
          const trained = at === 0 ? length - 1 : length; // the first token of a sequence is not trained on
          tokens += trained;
          const own = turnAdvantages?.[i]?.[s]?.[turn++];
          if (own !== undefined && advantages[i]! * own < 0) flipped += trained;
        });
      });
    });
  return { tokens, flipped };
}

/** A credit for each policy segment, as the scorer gave them. @throws InvariantError where one is missing or no number */
function checkedCredits({ turnCredits, sequences, task, member }: Scored): readonly (readonly number[])[] {
  const turns = sequences.map(({ segments }) => segments.filter(({ source }) => source === "policy").length);
  const fits =
    turnCredits?.length === turns.length &&
    turnCredits.every((credits, s) => credits.length === turns[s] && credits.every(Number.isFinite));
  if (fits) return turnCredits;
  throw new InvariantError({
    what: "the credits of an episode's turns are not one finite number each",
    where: `task ${task.id}, member ${member}`,
    got: JSON.stringify(turnCredits ?? null),
    expected: `${turns.join(" + ")} turns`,
  });
}
