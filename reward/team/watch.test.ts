import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rewardConfig } from "../config.ts";
import { fullEntropy, LengthSpread } from "./lengths.ts";
import { account, atOnce, caught, draft, plan, rejected, teamScored, teamTask, verdict } from "./testing.ts";
import { hackFindings, teamRulesOf, watchTeam } from "./watch.ts";

const rules = (hacks: object, team: object = {}) => teamRulesOf(rewardConfig.parse({ hacks, team }));
const stamped = () => account([[plan(), draft("Ona"), verdict("pass")]]);
const group = (...teams: ReturnType<typeof account>[]) => ({
  task: teamTask,
  members: teams.map((team, member) => teamScored(team, { member })),
});

describe("findings", () => {
  test("the mean over the episodes in which the case arose, with examples", () => {
    const { members } = group(atOnce(), stamped(), caught(), stamped());
    expect(hackFindings(members, rules({ rubberStamp: {} }))).toEqual([
      {
        ...{ name: "rubberStamp", action: "log", value: 2 / 3, threshold: 0.5, found: true, episodes: 2 },
        examples: [
          { task: "toy:1", member: 1 },
          { task: "toy:1", member: 3 },
        ],
      },
    ]);
  });
  test("below the threshold it is a number and no finding; at 0 every sign is one, and no sign is none", () => {
    const of = (threshold: number, ...teams: ReturnType<typeof account>[]) =>
      hackFindings(group(...teams).members, rules({ rubberStamp: { threshold } }))[0]?.found;
    expect(of(0.5, stamped(), caught(), caught())).toBe(false);
    expect(of(0, stamped(), caught(), caught())).toBe(true);
    expect(of(0, caught())).toBe(false);
  });
  test("what is not configured is off", () => {
    expect(hackFindings(group(stamped()).members, rules({}))).toEqual([]);
    expect(hackFindings(group(stamped()).members, teamRulesOf(rewardConfig.parse({})))).toEqual([]);
  });
});

describe("actions", () => {
  test("without any the very groups come back", () => {
    const groups = [group(stamped(), caught())];
    expect(watchTeam(groups, rules({ rubberStamp: { threshold: 0 } })).groups).toBe(groups);
    expect(watchTeam(groups, rules({ rubberStamp: { threshold: 1, action: "drop" } })).groups).not.toBe(
      undefined,
    );
    expect(watchTeam(groups, rules({ answerStuffing: { threshold: 0, action: "drop" } }))).toEqual({
      ...{ groups, dropped: [] },
    });
  });
  test("a penalty is in proportion to the sign, and kept as a part", () => {
    const half = account([[plan(["…"]), draft("Ona")]]);
    const before = group(half, stamped(), atOnce());
    const { groups, dropped } = watchTeam(
      [before],
      rules({
        formatDrift: { threshold: 0, action: "penalise", penalty: 0.2 },
        rubberStamp: { threshold: 0, action: "penalise", penalty: 0.3 },
      }),
    );
    expect(dropped).toEqual([]);
    const after = groups[0]!.members;
    expect(after.map(({ parts }) => parts.hacks)).toEqual([-0.1, -0.3, 0]);
    after.forEach(({ reward, parts }, i) => {
      expect(reward).toBeCloseTo(before.members[i]!.reward + parts.hacks!, 12);
    });
  });
  test("a dropped episode leaves its group; the others stay as they are, in order", () => {
    const groups = [group(stamped(), atOnce(), caught()), group(stamped(), stamped()), group(atOnce())];
    const watched = watchTeam(groups, rules({ rubberStamp: { threshold: 0.5, action: "drop" } }));
    expect(watched.groups.map(({ members }) => members.map(({ member }) => member))).toEqual([
      [1, 2],
      [],
      [0],
    ]);
    expect(watched.groups[0]!.members[0]).toBe(groups[0]!.members[1]);
    expect(watched.dropped.map(({ members }) => members.map(({ member }) => member))).toEqual([[0], [0, 1]]);
  });
  test("half a sign is enough to be dropped, less is not", () => {
    const hollow = (n: number) =>
      account([Array.from({ length: 4 }, (_, i) => plan(i < n ? ["…"] : ["director"]))]);
    const watched = watchTeam(
      [group(hollow(1), hollow(2))],
      rules({ formatDrift: { threshold: 0, action: "drop" } }),
    );
    expect(watched.groups[0]!.members.map(({ member }) => member)).toEqual([0]);
  });
});

describe("entropy of lengths", () => {
  const of = (...tokens: number[]) => account([tokens.map((n) => plan(["director"], [], { tokens: n }))]);
  test("lengths of one value have none, of eight half octaves all that is asked", () => {
    expect(new LengthSpread([of(8, 8, 9)]).entropies().planner).toBeCloseTo(0, 12);
    const spread = of(...Array.from({ length: 8 }, (_, i) => Math.ceil(16 * 2 ** (i / 2))));
    expect(new LengthSpread([spread]).entropies().planner).toBeCloseTo(fullEntropy, 12);
    expect(new LengthSpread([spread]).commonness(spread)).toBeCloseTo(0, 12);
  });
  test("law: the mean penalty of a role's calls is 1 − H/ln 8 while no length is rarer than one in eight", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(1, 2, 4, 8, 16), { minLength: 1, maxLength: 8 }), (tokens) => {
        const each = tokens.map((n) => of(n));
        const spread = new LengthSpread(each);
        const mean = each.reduce((sum, team) => sum + spread.commonness(team), 0) / each.length;
        expect(mean).toBeCloseTo(1 - spread.entropies().planner! / fullEntropy, 9);
      }),
    );
  });
  test("roles are apart, and the episode with the rare length pays less", () => {
    const [common, rare] = [of(8), of(64)];
    const spread = new LengthSpread([common, common, common, rare]);
    expect(spread.commonness(rare)).toBeLessThan(spread.commonness(common));
    const other = account([[draft("Mika", "spouse Mika", { tokens: 8 })]]);
    expect(new LengthSpread([common, other]).commonness(other)).toBe(1);
    expect(new LengthSpread([]).commonness(account([]))).toBe(0);
  });
  test("is taken from the reward, not from an episode past its rounds", () => {
    const before = group(atOnce(), caught(), rejected(2));
    const { groups } = watchTeam([before], rules({}, { lengthEntropy: 0.1 }));
    const after = groups[0]!.members;
    expect(after.map(({ parts }) => parts.lengthEntropy)).toEqual([-0.1, -0.1, 0]);
    expect(after.map(({ reward }, i) => reward - before.members[i]!.reward)).toEqual([
      expect.closeTo(-0.1, 12),
      expect.closeTo(-0.1, 12),
      0,
    ]);
  });
});
