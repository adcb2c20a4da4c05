import type { Rng } from "../../../core/rng.ts";
import type { Plan } from "../../../datasets/world/plan.ts";
import { relationNames } from "../../../datasets/world/relations.ts";
import { writeMessage } from "../message.ts";
import type { RoleName } from "../roles.ts";
import type { Shown, TeamExpert, TeamHabits } from "./expert.ts";

export interface WorldExpertOptions {
  readonly plan: Plan;
  readonly habits: TeamHabits;
  /** A fact of the world; undefined where there is none. */
  readonly follow: (subject: string, relation: string) => string | undefined;
  /** Draws of one call. */
  readonly draw: (role: RoleName, round: number) => Rng;
}

/** A relation and what it leads to, as pages state it and drafts repeat it. */
interface Fact {
  readonly relation: string;
  readonly subject: string;
  readonly object: string;
}

/**
 * The team's demonstrator in the synthetic world. A path is relations, from the entity that the question names to the
 * answer; a draft's steps are the facts that were read on the way; a verifier holds the relations of the steps against
 * those that the question asks for.
 */
export function worldExpert({ plan, habits, follow, draw }: WorldExpertOptions): TeamExpert {
  const asked = plan.hops.map(({ relation }) => relation as string);
  const start = plan.hops[0]!.subject;
  const happens = (random: Rng, share: number) => random() < share;

  const planner = ({ round }: Shown): string[] => {
    const random = draw("planner", round);
    const { skip, skipAgain, forget } = habits.planner;
    const short = happens(random, round === 1 ? skip : skipAgain) && asked.length > 1;
    const kept = 1 + random.int(Math.max(1, asked.length - 1));
    const path = short ? asked.slice(0, kept) : asked;
    const constraints = happens(random, forget) ? [] : asked.slice(-1);
    return [writeMessage(round === 1 ? "propose" : "revise", { path, constraints })];
  };

  /** Facts along a path as far as the world has them. A slip reads another line of the last page. */
  const walk = (path: readonly string[], slip: Rng | undefined): Fact[] => {
    const facts: Fact[] = [];
    let subject = start;
    for (const relation of path) {
      const object = follow(subject, relation);
      if (object === undefined) break;
      facts.push({ relation, subject, object });
      subject = object;
    }
    const last = facts.at(-1);
    if (!slip || !last) return facts;
    const others = relationNames.flatMap((relation) => {
      const object = relation === last.relation ? undefined : follow(last.subject, relation);
      return object === undefined ? [] : [{ ...last, relation, object }];
    });
    return others.length === 0 ? facts : [...facts.slice(0, -1), slip.pick(others)];
  };

  /** The path to follow; without a planner whoever searches makes it up, and skips as a planner would. */
  const pathOf = ({ path, round, on }: Shown, random: Rng): readonly string[] => {
    if (path !== undefined && on?.planner !== false) return path;
    const short = round === 1 && happens(random, habits.planner.skip) && asked.length > 1;
    return short ? asked.slice(0, 1 + random.int(asked.length - 1)) : asked;
  };

  /** A search for each fact, the one before quoted: relation first, which is how small policies learn to read. */
  const searches = (facts: readonly Fact[]): string[] =>
    facts.map(({ relation, subject }, i) => {
      const before = facts[i - 1];
      const quote = before ? `<think> ${before.relation} ${before.object} </think> ` : "";
      return `${quote}<search> ${relation} ${subject} </search>`;
    });

  const analyst = (shown: Shown): string[] => {
    if (shown.compress !== undefined)
      return [writeMessage("propose", { summary: shown.path?.join(" ; ") ?? asked.join(" ; ") })];
    const random = draw("analyst", shown.round);
    const missing = happens(random, habits.analyst.miss);
    const facts = walk(pathOf(shown, random), undefined);
    const conditions = stepsOf(missing && facts.length > 1 ? facts.slice(0, -1) : facts);
    return [...searches(facts), writeMessage("propose", { conditions: conditions || start })];
  };

  const drafter = (shown: Shown): string[] => {
    const random = draw("drafter", shown.round);
    const slip = happens(random, habits.drafter.slip) ? random : undefined;
    const alone = shown.on?.analyst === false;
    const facts = alone
      ? walk(pathOf(shown, random), slip)
      : walk(relationsIn((shown.conditions ?? []).join(" ; ")), slip);
    const steps = stepsOf(facts) || start;
    const message = writeMessage("propose", { steps, answer: facts.at(-1)?.object ?? start });
    return alone ? [...searches(facts), message] : [message];
  };

  const verifier = ({ draft, round }: Shown): string[] => {
    const random = draw("verifier", round);
    const { rubberStamp, rejectWrongly, unlocated } = habits.verifier;
    const done = relationsIn(draft?.steps ?? "");
    const wrong =
      asked.find((relation, i) => done[i] !== relation) ??
      (done.length > asked.length ? done.at(-1) : undefined);
    const [careless, harsh, vague] = [rubberStamp, rejectWrongly, unlocated].map((share) =>
      happens(random, share),
    );
    const looked = !(wrong !== undefined && careless);
    const failing = wrong !== undefined ? looked : harsh;
    // Put back into the question: the answer, then the relations from the outermost in, then where they start.
    const backward = [draft?.answer ?? "", ...[...(looked ? asked : done)].reverse(), start].join(" ").trim();
    const step = failing && !vague ? (wrong ?? asked.at(-1)) : undefined;
    return [
      writeMessage("verify", {
        forward: done.join(" ; ") || start,
        backward,
        verdict: failing ? "fail" : "pass",
        ...(step === undefined ? {} : { step }),
      }),
    ];
  };

  const summarizer = ({ draft, round }: Shown): string[] => {
    const random = draw("summarizer", round);
    const changed = happens(random, habits.summarizer.change) ? start : (draft?.answer ?? start);
    return [writeMessage("confirm", { answer: changed })];
  };

  const calls = { planner, analyst, drafter, verifier, summarizer };
  return { call: (role, shown) => calls[role](shown) };
}

const stepsOf = (facts: readonly Fact[]) =>
  facts.map(({ relation, object }) => `${relation} ${object}`).join(" ; ");

/** Relations of steps or conditions, in order: the first word of each item. */
const relationsIn = (text: string): string[] =>
  text
    .split(";")
    .map((item) => item.trim().split(/\s+/u)[0] ?? "")
    .filter((relation) => relation !== "");
