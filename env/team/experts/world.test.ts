import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../../../core/rng.ts";
import { questionOf } from "../../../datasets/task.ts";
import { makeWorld } from "../../../datasets/world.ts";
import { envConfig } from "../../config.ts";
import { memoryRetriever } from "../../search/memory.ts";
import { readEntries } from "../blackboard.ts";
import { roleNames } from "../roles.ts";
import { team } from "../team.ts";
import { countTokens } from "../testing.ts";
import { type TeamHabits, teamHabits, teamPresets } from "./expert.ts";
import { expertSeats } from "./seats.ts";
import { worldExpert } from "./world.ts";

const world = makeWorld({ seed: 3, clusters: 4 });
const retriever = memoryRetriever(world.passages, 0.3);
const { clean } = teamPresets;

/** Plays one question of the world with the scripted team in every seat. */
async function play(index: number, habits: TeamHabits, off: readonly string[] = [], more: object = {}) {
  const { task, plan } = world.question(rng(1, index), index % 4, 1 + (index % 3));
  const roles = Object.fromEntries(off.map((role) => [role, { on: false }]));
  const config = envConfig.parse({
    ...{ name: "team", topK: 2, passageFormat: "plain", observationTokens: 200 },
    team: { roles, ...more },
  });
  const environment = team({ retriever, config, seed: 1, countTokens, normalize: (answer) => answer.trim() });
  const expert = worldExpert({
    plan,
    habits,
    follow: (subject, relation) => world.fact(subject, relation),
    draw: (role, round) => rng(2, index, role, round),
  });
  const seats = expertSeats(expert, environment.seats);
  const ending = await environment.play(questionOf(task), seats, new AbortController().signal);
  return { team: ending.team!, ending, gold: task.goldenAnswers[0]!, plan };
}

describe("the clean team", () => {
  const optional = roleNames.filter((role) => role !== "drafter");

  it("is right and breaks no rule, whichever roles are there", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(200), fc.subarray([...optional]), async (index, off) => {
        const { team: account, ending, gold } = await play(index, clean, off);
        expect(account).toMatchObject({ rounds: 1, converged: true, answer: gold, conclusionChanged: false });
        expect(account.calls.every(({ clean: tidy, attempt }) => tidy && attempt === 1)).toBe(true);
        expect(ending.searches.length).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });

  it("a verifier that looks catches a planner that skips, and the planner puts it right", async () => {
    const skipping = { ...clean, planner: { skip: 1, skipAgain: 0, forget: 0 } };
    let caught = 0;
    for (let index = 0; index < 30; index++) {
      const { team: account, gold, plan } = await play(index, skipping, ["summarizer"]);
      expect(account.answer).toBe(gold);
      if (plan.hops.length === 1) continue;
      caught++;
      expect(account.verdicts.map(({ kind }) => kind)).toEqual(["fail", "pass"]);
      const verdict = account.calls.find(({ role }) => role === "verifier")!.payload;
      const path = account.calls.find(({ role }) => role === "planner")!.payload as { path: string[] };
      expect(verdict).toMatchObject({ verdict: "fail", step: plan.hops[path.path.length]!.relation });
    }
    expect(caught).toBeGreaterThan(10);
  });

  it("catches a slip of the drafter", async () => {
    const slipping = { ...clean, drafter: { slip: 1 } };
    for (let index = 0; index < 9; index++) {
      const { team: account } = await play(index, slipping, ["analyst", "summarizer"], { maxRounds: 2 });
      expect(account.verdicts.map(({ kind }) => kind)).toEqual(["fail", "fail"]);
    }
  });
});

it("rubber stamps pass what is wrong", async () => {
  const stamping = {
    ...clean,
    planner: { skip: 1, skipAgain: 1, forget: 0 },
    verifier: { rubberStamp: 1, rejectWrongly: 0, unlocated: 0 },
  };
  const { team: account, gold } = await play(2, stamping, ["summarizer"]);
  expect(account).toMatchObject({ rounds: 1, converged: true });
  expect(account.answer).not.toBe(gold);
});

it("a call depends on what is shown, not on the calls before it", () => {
  const { plan } = world.question(rng(1, 5), 1, 3);
  const expert = () =>
    worldExpert({
      plan,
      habits: teamPresets.hasty,
      follow: (subject, relation) => world.fact(subject, relation),
      draw: (role, round) => rng(9, role, round),
    });
  const shown = { round: 2, path: plan.hops.map(({ relation }) => relation as string) };
  const [first, second] = [expert(), expert()];
  for (const role of roleNames) first.call(role, { round: 1 });
  for (const role of roleNames) expect(first.call(role, shown)).toEqual(second.call(role, shown));
});

it("reads entries back as they are written", () => {
  expect(
    readEntries(
      "<constraints> a ; b </constraints> <path> x </path> <draft> s one ; t two <answer> two </answer> </draft> <verdict> fail <step> t </step> </verdict>",
    ),
  ).toEqual({
    constraints: ["a", "b"],
    path: ["x"],
    draft: { steps: "s one ; t two", answer: "two" },
    verdict: { forward: "", backward: "", verdict: "fail", step: "t" },
  });
  expect(readEntries("nothing")).toEqual({});
});

it("unknown demonstrators are refused by name", () => {
  expect(() => teamHabits("careles")).toThrow(/careful/);
});
