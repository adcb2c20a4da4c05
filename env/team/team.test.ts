import { describe, expect, it } from "vitest";
import { checkEnvironment } from "../check.ts";
import { roleNames } from "./roles.ts";
import {
  conditions,
  confirmed,
  drafted,
  failed,
  passed,
  path,
  playTeam,
  proposed,
  revised,
} from "./testing.ts";

const off = (...names: string[]) => ({
  roles: Object.fromEntries(names.map((name) => [name, { on: false }])),
});
const allFive = {
  planner: [proposed("mayor")],
  analyst: ["<search> mayor kano </search>", conditions("mayor lida")],
  drafter: [drafted("lida")],
  verifier: [passed],
  summarizer: [confirmed("Lida")],
};

describe("the loop", () => {
  it("plans, searches, drafts, verifies and sums up", async () => {
    const { ending, team, seats } = await playTeam(allFive);
    expect(ending).toMatchObject({ outcome: "answered", turns: 6, invalidActions: 0 });
    expect(ending.searches).toMatchObject([{ query: "mayor kano", seat: "analyst", repeated: false }]);
    expect(team).toMatchObject({
      rounds: 1,
      converged: true,
      draft: "lida",
      answer: "Lida",
      conclusionChanged: false,
    });
    expect(team.calls.map(({ role, intent }) => `${role} ${intent}`)).toEqual([
      ...["planner propose", "analyst propose", "drafter propose", "verifier verify", "summarizer confirm"],
    ]);
    expect(seats.analyst!.shown[0]).toEqual([
      "<constraints> mayor </constraints> <path> mayor </path>",
      expect.stringContaining("about mayor kano"),
    ]);
    expect(seats.drafter!.shown[0]).toEqual([
      "<constraints> mayor </constraints> <path> mayor </path> <conditions> mayor lida </conditions>",
    ]);
    expect(seats.verifier!.shown[0]![0]).toContain("<draft> mayor lida <answer> lida </answer> </draft>");
  });

  it("a rejected draft goes back to the planner, who revises the path; each role is shown what is new to it", async () => {
    const { team, seats } = await playTeam(
      {
        planner: [proposed("mayor"), revised("mayor ; spouse")],
        drafter: [drafted("lida"), drafted("bato")],
        verifier: [failed("spouse"), passed],
      },
      off("analyst", "summarizer"),
    );
    expect(team).toMatchObject({ rounds: 2, converged: true, answer: "bato" });
    expect(team.verdicts).toEqual([
      { round: 1, kind: "fail" },
      { round: 2, kind: "pass" },
    ]);
    expect(seats.planner!.shown[0]).toEqual(["<verdict> fail <step> spouse </step> </verdict>"]);
    expect(seats.drafter!.shown[0]).toEqual([
      "<constraints> mayor </constraints> <path> mayor </path>",
      "<constraints> mayor </constraints> <path> mayor ; spouse </path>",
    ]);
  });

  it("past the last round there is no answer, whatever was drafted", async () => {
    const { ending, team } = await playTeam(
      {
        planner: [proposed("a"), revised("b")],
        drafter: [drafted("lida"), drafted("lida")],
        verifier: [failed(), failed()],
      },
      { ...off("analyst", "summarizer"), maxRounds: 2 },
    );
    expect(ending.outcome).toBe("turn_limit");
    expect(team).toMatchObject({ rounds: 2, converged: false });
    expect(team.answer).toBeUndefined();
  });

  it("an unreadable verdict approves nothing, however often it is written", async () => {
    const { team } = await playTeam(
      {
        planner: [proposed("a"), revised("a")],
        drafter: [drafted("lida"), drafted("lida")],
        verifier: ["pass", "<verdict> pass </verdict>", "pass", "pass"],
      },
      { ...off("analyst", "summarizer"), maxRounds: 2 },
    );
    expect(team.verdicts.map(({ kind }) => kind)).toEqual(["unparsable", "unparsable"]);
    expect(team.converged).toBe(false);
  });

  it("a violation is answered once and counted", async () => {
    const { ending, team, seats } = await playTeam({
      ...allFive,
      planner: ["let me think", proposed("mayor")],
      verifier: [proposed("x"), passed],
    });
    expect(ending.invalidActions).toBe(2);
    expect(team.converged).toBe(true);
    expect(team.calls.slice(0, 2)).toMatchObject([
      { role: "planner", attempt: 1, violation: "noMessage", clean: false },
      { role: "planner", attempt: 2, intent: "propose", clean: true },
    ]);
    expect(seats.planner!.shown[0]![0]).toContain("there is no message");
    expect(seats.verifier!.shown[0]![1]).toContain("<verify>");
  });

  it("a planner may give up, and only in its own words", async () => {
    const { ending, team } = await playTeam({
      planner: ["<abort> <reason> no such city </reason> </abort>"],
    });
    expect(ending.outcome).toBe("no_answer");
    expect(team).toMatchObject({ aborted: true, converged: false });
    const { team: other } = await playTeam({
      ...allFive,
      verifier: ["<abort> <reason> x </reason> </abort>", passed],
    });
    expect(other.aborted).toBe(false);
  });

  it("revises in later rounds and proposes in the first, not the other way round", async () => {
    const { team } = await playTeam({ ...allFive, planner: [revised("a"), proposed("a")] });
    expect(team.calls[0]).toMatchObject({ violation: "illegalIntent", intent: "revise" });
  });

  it("a summarizer that changes the conclusion is not heard", async () => {
    const { team } = await playTeam({ ...allFive, summarizer: [confirmed("bato")] });
    expect(team).toMatchObject({ answer: "lida", draft: "lida", conclusionChanged: true });
  });

  it("a full context ends the episode", async () => {
    const { ending } = await playTeam({ ...allFive, drafter: [""] });
    expect(ending.outcome).toBe("length");
  });
});

describe("roles that are off", () => {
  it("without a planner the verifier's feedback goes to the drafter", async () => {
    const { team, seats } = await playTeam(
      { drafter: [drafted("a"), drafted("b")], verifier: [failed("spouse"), passed] },
      off("planner", "analyst", "summarizer"),
    );
    expect(team.answer).toBe("b");
    expect(seats.drafter!.shown[0]).toEqual(["<verdict> fail <step> spouse </step> </verdict>"]);
  });

  it("without an analyst the drafter searches", async () => {
    const { ending, seats } = await playTeam(
      { ...allFive, drafter: ["<search> mayor kano </search>", drafted("lida")] },
      off("analyst"),
    );
    expect(ending.searches).toMatchObject([{ seat: "drafter" }]);
    expect(seats.drafter!.shown[0]![1]).toContain("about mayor kano");
    expect(seats).not.toHaveProperty("compressor");
  });

  it("without a verifier the first draft is final", async () => {
    const { team } = await playTeam(allFive, off("verifier"));
    expect(team).toMatchObject({ rounds: 1, converged: true, answer: "Lida", verdicts: [] });
  });

  it("without a summarizer the accepted draft is the answer", async () => {
    const { team } = await playTeam(allFive, off("summarizer"));
    expect(team.answer).toBe("lida");
  });

  it("in a static pipeline the verdict goes nowhere", async () => {
    const { team } = await playTeam({ ...allFive, verifier: [failed()] }, { feedback: false });
    expect(team).toMatchObject({ rounds: 1, converged: true, answer: "Lida" });
    expect(team.verdicts).toEqual([{ round: 1, kind: "fail" }]);
  });
});

describe("context", () => {
  const long = "word ".repeat(30).trim();
  const rounds = {
    planner: [proposed("one"), revised("two"), revised("three"), revised("four"), revised("five")],
    analyst: ["one", "two", "three", "four", "five"].map((fact) => conditions(`secret-${fact} ${long}`)),
    drafter: ["a", "b", "c", "d", "e"].map((answer) => drafted(answer, `steps-of-${answer}`)),
    verifier: [failed("s1"), failed("s2"), failed("s3"), failed("s4"), passed],
    summarizer: [confirmed("e")],
  };

  it("no role is ever shown what stands in another's conversation alone", async () => {
    const { seats } = await playTeam({
      ...rounds,
      analyst: rounds.analyst.flatMap((message) => ["<search> hidden query </search>", message]),
    });
    const seen = (role: string) => seats[role]!.shown.flat().join("\n");
    for (const role of roleNames.filter((each) => each !== "analyst"))
      expect(seen(role)).not.toContain("about hidden query");
    for (const role of ["planner", "verifier", "summarizer"]) expect(seen(role)).not.toContain("secret-");
    for (const role of ["planner", "analyst", "drafter", "summarizer"])
      expect(seen(role)).not.toContain("<forward>");
    expect(seen("planner")).not.toContain("steps-of-");
  });

  it("limits are soft at first; then the analyst compresses, and the record has what was replaced", async () => {
    const { team, seats } = await playTeam(
      {
        ...rounds,
        compressor: Array.from(
          { length: 8 },
          (_, i) => `<propose> <summary> short ${i} </summary> </propose>`,
        ),
      },
      { workspaceTokens: 60, blackboardTokens: 16, softRounds: 3 },
    );
    expect(team.converged).toBe(true);
    const early = team.overruns.filter(({ round }) => round <= 3);
    expect(early.length).toBeGreaterThan(0);
    expect(team.compressions.every(({ round }) => round > 3)).toBe(true);
    const analyst = team.compressions.find(({ of }) => of === "analyst")!;
    expect(analyst.replaced).toContain("secret-one");
    expect(analyst.tokensAfter).toBeLessThan(analyst.tokensBefore);
    expect(seats.analyst!.shown[1]![0]).toBe(
      `<summary> ${analyst.by} </summary> ${"<constraints> mayor </constraints> <path> three </path>"}`,
    );
    const board = team.compressions.find(({ of }) => of === "blackboard")!;
    expect(board.replaced).toContain("<step> s1 </step>");
    // What is compressed is read at a seat of its own.
    for (const role of ["planner", "verifier", "summarizer"])
      expect(seats[role]!.shown.flat().join()).not.toContain("secret-one");
  });

  it("an analyst that cannot compress leaves everything as it is", async () => {
    const { team } = await playTeam(rounds, { workspaceTokens: 60, softRounds: 0 });
    expect(team.compressions).toEqual([]);
    expect(team.overruns.length).toBeGreaterThan(0);
    expect(team.calls.filter(({ violation }) => violation === "noMessage").length).toBeGreaterThan(0);
  });
});

it("every role opens its conversation by itself", async () => {
  const { environment } = await playTeam(allFive);
  expect(environment.seats).toEqual([...roleNames, "compressor"]);
  for (const role of roleNames) {
    expect(environment.prompts![role]!.plain).toBe(`<${role}> <question> {question} </question>`);
    expect(environment.prompts![role]!.system).toContain(`You are the ${role}`);
  }
  expect(path("a")).toContain("<path>");
});

it("whoever searches is told how", async () => {
  const system = async (section: object, role: string) =>
    (await playTeam(allFive, section)).environment.prompts![role]!.system;
  expect(await system({}, "analyst")).toContain("<search>");
  expect(await system({}, "drafter")).not.toContain("<search>");
  expect(await system(off("analyst"), "drafter")).toContain("<search>");
  const own = { roles: { drafter: { system: "mine" }, analyst: { on: false } } };
  expect(await system(own, "drafter")).toBe("mine");
});

it("keeps an environment's promises, whatever its roles say", async () => {
  const { environment } = await playTeam(allFive);
  expect(await checkEnvironment(environment)).not.toEqual([]);
});
