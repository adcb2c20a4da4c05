import type { Rng } from "../../../../core/rng.ts";
import type { NamedFamily } from "../../../../datasets/families/families.ts";
import type { Solution, Step } from "../../../../datasets/families/plan.ts";
import { writeMessage } from "../../message.ts";
import type { RoleName } from "../../roles.ts";
import type { Shown, TeamExpert, TeamHabits } from "../expert.ts";
import { arithmeticSkills } from "./arithmetic.ts";
import { debuggingSkills } from "./debugging.ts";
import { faultOf, isGiven, type Skills } from "./skills.ts";
import { synthesisSkills } from "./synthesis.ts";

export interface FamilyExpertOptions {
  readonly habits: TeamHabits;
  /** Draws of one call. */
  readonly draw: (role: RoleName, round: number) => Rng;
}

/** The team's demonstrator for one task of a family. @throws DataError for another family's id */
export function familyExpert(named: NamedFamily, taskId: string, options: FamilyExpertOptions): TeamExpert {
  const { plan, skills } = solve(named, taskId);
  return planExpert(plan, skills, options);
}

function solve(named: NamedFamily, taskId: string): { plan: Solution<unknown>; skills: Skills } {
  if (named.kind === "arithmetic") {
    const solved = named.family.planned(taskId);
    return { plan: solved.plan, skills: arithmeticSkills(solved) };
  }
  if (named.kind === "debugging") {
    const solved = named.family.planned(taskId);
    return { plan: solved.plan, skills: debuggingSkills(solved) };
  }
  const solved = named.family.planned(taskId);
  return { plan: solved.plan, skills: synthesisSkills(solved) };
}

/**
 * A team that knows a plan. The planner writes its steps; the analyst the facts that they need; the drafter does the
 * steps of the path it is shown, as far as it is shown their facts; the verifier holds what it is shown against the plan.
 * A number that was misread in a passage it cannot see, and lets it pass.
 */
export function planExpert(
  plan: Solution<unknown>,
  skills: Skills,
  { habits, draw }: FamilyExpertOptions,
): TeamExpert {
  const full = plan.steps.map(({ path }) => path);
  const without = <T>(items: readonly T[], random: Rng) => items.toSpliced(random.int(items.length), 1);
  const happens = (random: Rng, share: number) => random() < share;

  const planned = (random: Rng, round: number): readonly string[] => {
    const { skip, skipAgain } = habits.planner;
    const skips = happens(random, round === 1 ? skip : skipAgain);
    const short = without(full, random);
    return skips && short.length > 0 ? short : full;
  };
  /** The path to follow; without a planner whoever comes first makes it up, and skips as a planner would. */
  const pathOf = ({ path, round, on }: Shown, random: Rng): readonly string[] =>
    path !== undefined && on?.planner !== false ? path.map(plain) : planned(random, round);
  const stepsOn = (path: readonly string[]): Step[] =>
    path.flatMap((item) => plan.steps.find((step) => step.path === item) ?? []);

  const planner = (shown: Shown): string[] => {
    const random = draw("planner", shown.round);
    const path = planned(random, shown.round);
    const forgets = happens(random, habits.planner.forget);
    const constraints = forgets ? without(plan.constraints, random) : plan.constraints;
    return [writeMessage(shown.round === 1 ? "propose" : "revise", { path, constraints })];
  };

  const analyst = (shown: Shown): string[] => {
    if (shown.compress !== undefined)
      return [writeMessage("propose", { summary: (shown.path ?? full).join(" ; ") })];
    const random = draw("analyst", shown.round);
    const steps = stepsOn(pathOf(shown, random));
    const facts = steps.flatMap(({ conditions }) => conditions);
    const misses = happens(random, habits.analyst.miss);
    const fewer = facts.length > 1 ? without(facts, random) : facts;
    const conditions = misses ? fewer : facts;
    return [
      ...searchesFor(steps),
      writeMessage("propose", { conditions: conditions.length > 0 ? conditions : ["nothing"] }),
    ];
  };

  const drafter = (shown: Shown): string[] => {
    const random = draw("drafter", shown.round);
    const path = pathOf(shown, random);
    const slip = happens(random, habits.drafter.slip) ? random : undefined;
    const alone = shown.on?.analyst === false || shown.conditions === undefined;
    const given = shown.conditions ?? [];
    // A step whose facts were not handed on cannot be done; a step that needs none always can.
    const unable = stepsOn(path).filter(
      ({ conditions }) => !conditions.every((fact) => isGiven(fact, given)),
    );
    const able = alone ? path : path.filter((item) => !unable.some((step) => step.path === item));
    const { steps, answer } = skills.draft(able, slip);
    return [...(alone ? searchesFor(stepsOn(path)) : []), writeMessage("propose", { steps, answer })];
  };

  const verifier = ({ draft, round }: Shown): string[] => {
    const random = draw("verifier", round);
    const { rubberStamp, rejectWrongly, unlocated } = habits.verifier;
    const [careless, harsh, vague] = [rubberStamp, rejectWrongly, unlocated].map((share) =>
      happens(random, share),
    );
    const any = random.pick(full);
    const fault = draft
      ? faultOf(skills.believing?.(draft) ?? plan, draft)
      : { step: "answer", forward: "answer is missing" };
    const stamped = fault !== undefined && careless;
    const fails = fault === undefined ? harsh : !careless;
    const step = fails && !vague ? (fault?.step ?? any) : undefined;
    return [
      writeMessage("verify", {
        forward: fault && !stamped ? fault.forward : "every step follows",
        // Who stamps does not put the answer back: that is how it can be told.
        backward: stamped ? "answer holds" : draft ? skills.backward(draft) : "answer is missing",
        verdict: fails ? "fail" : "pass",
        step,
      }),
    ];
  };

  const summarizer = ({ draft, round }: Shown): string[] => {
    const random = draw("summarizer", round);
    const changes = happens(random, habits.summarizer.change);
    // A changed conclusion: that of a path with a step left out.
    const other = skills.draft(without(full, random)).answer;
    return [writeMessage("confirm", { answer: changes ? other : (draft?.answer ?? plan.answer) })];
  };

  const calls = { planner, analyst, drafter, verifier, summarizer };
  return { call: (role, shown) => calls[role](shown) };
}

const plain = (item: string) => item.trim().split(/\s+/u).join(" ");

/** A search for each fact that a passage states, the one before quoted, as in the world. */
function searchesFor(steps: readonly Step[]): string[] {
  const searched = steps.filter(({ passageId }) => passageId !== undefined);
  return searched.map(({ path }, i) => {
    const before = searched[i - 1];
    const quote = before ? `<think> ${before.conditions.join(" , ")} </think> ` : "";
    return `${quote}<search> ${path} </search>`;
  });
}
