import type { Change } from "./lab-change.ts";
import { type Finding, show } from "./lab-finding.ts";
import type { Side } from "./lab-group.ts";
import { type Line, Moments } from "./moments.ts";

export interface StepChange extends Change {
  readonly step: number;
}

/** Steps from which a trend is looked for, and t values from which a slope is one, and below which it is none. */
const [enough, clear, absent] = [8, 3, 1];

/** What moves over the steps of a run while something else should move with it. */
export function trends(steps: readonly StepChange[], side: Side, counting: readonly string[]): Finding[] {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last || steps.length < enough) return [];
  const line = (of: (step: StepChange) => number | null | undefined): Line | null => {
    const moments = new Moments();
    for (const step of steps) {
      const value = of(step);
      if (typeof value === "number") moments.add(step.step, value);
    }
    return moments.n < enough ? null : moments.line;
  };
  const part = (name: string) => line(({ parts }) => parts[name]?.[side]);
  const ends = ({ at }: Line) => `${show(at(first.step))} → ${show(at(last.step))}`;
  const over = `over steps ${first.step} to ${last.step}`;

  const found: Finding[] = [];
  const reward = line(({ reward }) => reward[side]);
  const match = part("exactMatch");
  if (reward && match && reward.t >= clear && match.t < absent) {
    const rising = counting.filter((name) => name !== "exactMatch" && (part(name)?.t ?? 0) >= clear);
    const with_ =
      rising.length === 0 ? "" : `; what rises is ${rising.map((name) => `\`${name}\``).join(", ")}`;
    found.push({
      kind: "rewardWithoutMatch",
      text: `${over} the reward rises (${ends(reward)}) while exact match does not (${ends(match)})${with_}`,
    });
  }
  const tag = part("answerTag");
  if (tag && tag.t <= -clear && tag.at(first.step) - tag.at(last.step) >= 0.05) {
    const under = counting.includes("f1") ? ": F1 is known for answers that are avoided" : "";
    found.push({
      kind: "answersAvoided",
      text: `${over} fewer and fewer episodes answer (${ends(tag)})${under}`,
    });
  }
  return found;
}
