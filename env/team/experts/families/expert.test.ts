import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rng } from "../../../../core/rng.ts";
import { type FamilyName, type NamedFamily, openFamily } from "../../../../datasets/families/families.ts";
import { unwritable } from "../../../../datasets/families/testing.ts";
import { memoryRetriever } from "../../../search/memory.ts";
import { type Draft, type Path, readMessage, type Verdict } from "../../message.ts";
import type { RoleName } from "../../roles.ts";
import { teamTokens } from "../../vocabulary.ts";
import { type Shown, type TeamExpert, type TeamHabits, teamPresets } from "../expert.ts";
import { familyExpert } from "./expert.ts";

const opened: readonly (readonly [string, NamedFamily])[] = [
  ...(["arithmetic", "debugging", "synthesis"] as FamilyName[]).map(
    (name) => [name, openFamily(name, 2)] as const,
  ),
  ["long synthesis", openFamily("synthesis", 2, { passages: "question" })],
];
const clean: TeamHabits = teamPresets.clean;
const count = (named: NamedFamily) => (named.kind === "debugging" ? 4 : 30);
const idsOf = (named: NamedFamily) =>
  Array.from({ length: count(named) }, (_, i) => {
    return named.family.task({ split: "train", level: 1 + (i % 3), index: i }).task.id;
  });
const expertOf = (named: NamedFamily, id: string, habits: TeamHabits, seed = 1) =>
  familyExpert(named, id, { habits, draw: (role, round) => rng(seed, id, role, round) });

/** One call, read as the environment reads it. */
function says<T>(expert: TeamExpert, role: RoleName, shown: Shown): T {
  const turns = expert.call(role, shown);
  for (const turn of turns.slice(0, -1)) expect(turn).toMatch(/<search> .+ <\/search>$/);
  const read = readMessage("task", role, turns.at(-1) as string);
  expect(read).toMatchObject({ clean: true });
  return ("message" in read ? read.message.payload : {}) as T;
}

interface Round {
  readonly path: Path;
  readonly draft: Draft;
  readonly verdict: Verdict;
}

function play(expert: TeamExpert, maxRounds = 6): readonly Round[] {
  const rounds: Round[] = [];
  for (let round = 1; round <= maxRounds; round++) {
    const verdict = rounds.at(-1)?.verdict;
    const path = says<Path>(expert, "planner", { round, ...(verdict && { verdict }) });
    const { conditions } = says<{ conditions: string[] }>(expert, "analyst", { round, ...path });
    const draft = says<Draft>(expert, "drafter", { round, ...path, conditions });
    rounds.push({ path, draft, verdict: says<Verdict>(expert, "verifier", { round, ...path, draft }) });
    if (rounds.at(-1)?.verdict.verdict === "pass") break;
  }
  return rounds;
}

describe.each(opened)("the team's expert in %s", (_name, named) => {
  const ids = idsOf(named);
  const goldOf = (id: string) => named.family.planned(id).plan.answer;
  const planOf = (id: string) => named.family.planned(id).plan;

  it("makes no mistake when clean: one round, the right answer, every constraint kept", () => {
    for (const id of ids) {
      const expert = expertOf(named, id, clean);
      const [first, second] = play(expert);
      expect(second).toBeUndefined();
      expect(first?.draft.answer).toBe(goldOf(id));
      expect(first?.path.constraints).toEqual(planOf(id).constraints);
      expect(first?.verdict).toMatchObject({ forward: "every step follows", verdict: "pass" });
      expect(first?.verdict.backward).toContain(goldOf(id));
      expect(first?.verdict.backward).toMatch(/holds$/);
      const { task } = named.family.planned(id);
      const checks = named.family.checkConstraints(task, first!.draft.answer, first!.draft.steps);
      expect(checks.filter(({ kept }) => !kept)).toEqual([]);
      expect(says(expert, "summarizer", { round: 1, draft: first!.draft })).toEqual({ answer: goldOf(id) });
    }
  });

  it("catches a skipped step, names it, and revises", () => {
    for (const id of ids) {
      const rounds = play(expertOf(named, id, { ...clean, planner: { skip: 1, skipAgain: 0, forget: 1 } }));
      const full = planOf(id).steps.map(({ path }) => path);
      const skipped = full.filter((step) => !rounds[0]?.path.path.includes(step));
      expect(skipped).toHaveLength(1);
      expect(rounds[0]?.path.constraints).toHaveLength(planOf(id).constraints.length - 1);
      expect(rounds[0]?.verdict).toMatchObject({ verdict: "fail", step: skipped[0] });
      expect(rounds[0]?.verdict.forward).toBe(`${skipped[0]} is missing`);
      expect(rounds).toHaveLength(2);
      expect(rounds[1]?.path.path).toEqual(full);
      expect(rounds[1]?.draft.answer).toBe(goldOf(id));
    }
  });

  it("slips in one step, which the verifier locates where it can see it", () => {
    let caught = 0;
    for (const id of ids) {
      const [{ path, draft, verdict }] = play(expertOf(named, id, { ...clean, drafter: { slip: 1 } })) as [
        Round,
      ];
      const steps = planOf(id).steps;
      const wrong = steps.find(({ work }) => !draft.steps.split(" ; ").includes(work));
      expect(path.path).toEqual(steps.map((step) => step.path));
      expect(wrong).toBeDefined();
      if (verdict.verdict === "fail") {
        expect(verdict.step).toBe(wrong?.path);
        expect(verdict.forward).toMatch(/ not /);
        caught++;
      } else expect(wrong?.passageId).toBeDefined();
    }
    if (named.family.passages.length > 2 && _name === "synthesis") expect(caught).toBeGreaterThan(5);
    else expect(caught).toBe(ids.length);
  });

  it("misses a condition, and then cannot do the step that needs it", () => {
    for (const id of ids) {
      const [{ draft, verdict }] = play(expertOf(named, id, { ...clean, analyst: { miss: 1 } })) as [Round];
      expect(verdict.verdict).toBe("fail");
      expect(verdict.forward).toBe(`${verdict.step} is missing`);
      expect(draft.steps).not.toContain(`${verdict.step} : `);
    }
  });

  it("stamps, rejects and keeps quiet about the step when its habits say so, and changes the conclusion", () => {
    const skips = { skip: 1, skipAgain: 1, forget: 0 };
    const verifier = { rubberStamp: 0, rejectWrongly: 0, unlocated: 0 };
    for (const id of ids.slice(0, 6)) {
      const stamped = play(
        expertOf(named, id, { ...clean, planner: skips, verifier: { ...verifier, rubberStamp: 1 } }),
      );
      expect(stamped).toMatchObject([
        { verdict: { forward: "every step follows", backward: "answer holds", verdict: "pass" } },
      ]);
      const rejected = play(
        expertOf(named, id, { ...clean, verifier: { ...verifier, rejectWrongly: 1 } }),
        2,
      );
      expect(rejected.map(({ verdict }) => verdict.verdict)).toEqual(["fail", "fail"]);
      const quiet = play(
        expertOf(named, id, { ...clean, planner: skips, verifier: { ...verifier, unlocated: 1 } }),
        1,
      );
      expect(quiet[0]?.verdict.verdict).toBe("fail");
      expect(quiet[0]?.verdict.step).toBeUndefined();
      const changing = expertOf(named, id, { ...clean, summarizer: { change: 1 } });
      const draft = { steps: "x", answer: goldOf(id) };
      if (named.kind === "arithmetic")
        expect(says(changing, "summarizer", { round: 1, draft })).not.toEqual({ answer: goldOf(id) });
    }
  });

  it("nearly always ends right when careful, in more than one round now and then", () => {
    const played = ids.map((id) => ({ id, rounds: play(expertOf(named, id, teamPresets.careful)) }));
    const right = played.filter(({ id, rounds }) => rounds.at(-1)?.draft.answer === goldOf(id));
    expect(right.length).toBeGreaterThanOrEqual(0.8 * ids.length);
    expect(played.some(({ rounds }) => rounds.length > 1)).toBe(true);
  });

  it("writes nothing that a tiny policy cannot", () => {
    const { words, special, syllables } = named.family.vocabulary();
    const all = {
      special,
      syllables,
      words: [...words, ...special, ...teamTokens.special, ...teamTokens.words],
    };
    const texts = ids.flatMap((id) => {
      const expert = expertOf(named, id, teamPresets.hasty, 3);
      return play(expert).flatMap(({ path, draft, verdict }, i) => {
        const shown = { round: i + 1, ...path, draft, verdict };
        return (["planner", "analyst", "drafter", "verifier", "summarizer"] as const).flatMap((role) =>
          expert.call(role, shown),
        );
      });
    });
    expect(unwritable(texts, all)).toEqual([]);
  });

  it("law: it answers whatever it is shown with a message, the same each time, and passes nothing that is wrong", () => {
    const piece = fc.constantFrom(
      "ana plus 3",
      "case 1",
      "fix",
      "sum",
      ":",
      "12",
      "-1",
      "line 1 : print x",
      "hm",
      ",",
    );
    const text = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(" "));
    const items = fc.array(text, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.constantFrom(...ids),
        items,
        items,
        text,
        text,
        (id, path, conditions, steps, answer) => {
          const expert = expertOf(named, id, clean);
          const shown = { round: 2, path, conditions, draft: { steps, answer } };
          for (const role of ["verifier", "drafter", "summarizer", "analyst", "planner"] as const) {
            const said = says(expert, role, shown);
            expect(expertOf(named, id, clean).call(role, shown)).toEqual(expert.call(role, shown));
            if (role === "verifier") expect(said).toMatchObject({ verdict: "fail" });
          }
          expect(says(expert, "verifier", { round: 1 })).toMatchObject({ verdict: "fail", step: "answer" });
        },
      ),
      { numRuns: named.kind === "debugging" ? 15 : 40, seed: 1 },
    );
  });

  it("leaves the work of who is off to others", () => {
    const id = ids[2] as string;
    const on = { planner: false, analyst: false };
    const draft = says<Draft>(expertOf(named, id, clean), "drafter", { round: 1, on });
    expect(draft.answer).toBe(goldOf(id));
    const searched = expertOf(named, id, clean).call("drafter", { round: 1, on }).length - 1;
    expect(searched).toBe(planOf(id).steps.filter(({ passageId }) => passageId !== undefined).length);
    const summary = says<{ summary: string }>(expertOf(named, id, clean), "analyst", {
      round: 4,
      compress: "old",
    });
    expect(summary.summary).toBe(
      planOf(id)
        .steps.map(({ path }) => path)
        .join(" ; "),
    );
  });
});

it("finds the passages that it searches for", async () => {
  const named = openFamily("synthesis", 2);
  const retriever = memoryRetriever(named.family.passages);
  for (const id of idsOf(named).slice(0, 10)) {
    const { plan } = named.family.planned(id);
    const turns = expertOf(named, id, clean).call("analyst", { round: 1 });
    const queries = turns.slice(0, -1).map((turn) => /<search> (.*) <\/search>/.exec(turn)?.[1] as string);
    const hits = await retriever.search(queries, 3, new AbortController().signal);
    const wanted = plan.steps.flatMap(({ passageId }) => passageId ?? []);
    wanted.forEach((passageId, i) => {
      expect(hits[i]?.map((hit) => hit.id)).toContain(passageId);
    });
  }
});
