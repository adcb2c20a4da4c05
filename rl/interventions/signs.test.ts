import fc from "fast-check";
import { expect, test } from "vitest";
import { toyTrajectory } from "../../reward/testing.ts";
import type { Segment, Trajectory } from "../../rollout/trajectory.ts";
import { likeness } from "./roles.ts";
import { collapseSigns } from "./signs.ts";

const said = (tokens: readonly number[], source: Segment["source"] = "policy"): Segment => ({
  ...{ source, tokens, text: "" },
  ...(source === "policy" ? { logprobs: tokens.map(() => -0.5) } : {}),
});
const episode = (seats: readonly (readonly [seat: string, ...Segment[]])[]): Trajectory => ({
  ...toyTrajectory([]),
  sequences: seats.map(([seat, ...segments]) => ({ seat, segments })),
});

test("roles that write the same are alike, those that share no two tokens in a row are not", () => {
  expect(
    likeness(
      episode([
        ["planner", said([1, 2, 3])],
        ["verifier", said([1, 2, 3])],
      ]),
    ),
  ).toEqual({
    ...{ similarity: 1, lengthRatio: 1 },
  });
  expect(
    likeness(
      episode([
        ["planner", said([1, 2, 3, 4])],
        ["verifier", said([3, 1])],
      ]),
    ),
  ).toEqual({
    ...{ similarity: 0, lengthRatio: 0.5 },
  });
});

test("a role's conversations are one text, what tools and harness wrote is nobody's, and so is what others played", () => {
  const team = episode([
    ["planner", said([9, 9], "prompt"), said([1, 2])],
    ["planner", said([3, 4])],
    ["verifier", said([1, 2]), said([3, 4], "observation")],
  ]);
  expect(likeness(team)).toEqual({ similarity: 0.5, lengthRatio: 0.5 });
  const outside = team.sequences.map((s) => (s.seat === "verifier" ? { ...s, outside: true } : s));
  expect(likeness({ sequences: outside as Trajectory["sequences"] })).toBeUndefined();
});

test("one role has nothing to be alike to; two seats of one role are one", () => {
  const team = episode([
    ["analyst", said([1])],
    ["compressor", said([1])],
  ]);
  expect(likeness(episode([["researcher", said([1, 2])]]))).toBeUndefined();
  expect(likeness(team, () => "analyst")).toBeUndefined();
  expect(likeness(team)?.similarity).toBe(1);
});

test("likeness lies in [0, 1] and does not depend on the order of the roles", () => {
  const texts = fc.array(fc.array(fc.nat(3), { maxLength: 6 }), { maxLength: 4 });
  fc.assert(
    fc.property(texts, (list) => {
      const seats = list.map((tokens, i) => [`role${i}`, said(tokens)] as const);
      const [found, turned] = [likeness(episode(seats)), likeness(episode([...seats].reverse()))];
      expect(found === undefined).toBe(list.filter(({ length }) => length > 0).length < 2);
      for (const name of ["similarity", "lengthRatio"] as const) {
        const value = found?.[name] ?? 0;
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
        expect(turned?.[name] ?? 0).toBeCloseTo(value, 12);
      }
    }),
  );
});

test("shares of tokens, likelihood of right episodes, and searches a call", () => {
  const alone = episode([["researcher", said([1, 2], "prompt"), said([1]), said([1, 2, 3], "observation")]]);
  const call = { round: 1, role: "analyst", attempt: 1, tokens: 3, clean: true } as const;
  const ending = {
    ...alone.ending!,
    team: { calls: [1, 3, 0].map((searches) => ({ ...call, searches })) } as unknown as NonNullable<
      NonNullable<Trajectory["ending"]>["team"]
    >,
  };
  expect(collapseSigns([{ ...alone, ending }], [alone])).toEqual({
    ...{ searches_per_call: 2, observation_share: 0.5, correct_logprob: -0.5 },
  });
  expect(collapseSigns([], [])).toEqual({});
});
