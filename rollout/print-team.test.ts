import { expect, it } from "vitest";
import { drafted, failed, passed, playTeam, proposed, revised } from "../env/team/testing.ts";
import { teamLines } from "./print-team.ts";

it("tells an episode in the order in which it was played", async () => {
  const { team } = await playTeam(
    {
      planner: ["hm", proposed("director", "spouse"), revised("director ; spouse", "spouse")],
      drafter: [
        "<search> director kano </search>",
        drafted("lida", "director lida"),
        `so ${drafted("bato")}`,
      ],
      verifier: [failed("spouse"), passed],
    },
    { roles: { analyst: { on: false }, summarizer: { on: false } } },
  );
  expect(teamLines(team)).toEqual([
    "round 1",
    "  planner    no message: noMessage",
    "  planner    again: propose path: director · constraints: spouse",
    "  drafter    1 search, propose steps: director lida · answer: lida",
    "  verifier   verify forward: f · backward: b · verdict: fail · step: spouse",
    "round 2",
    "  planner    revise path: director ; spouse · constraints: spouse",
    "  drafter    propose steps: mayor lida · answer: bato (with text around it)",
    "  verifier   verify forward: mayor · backward: lida mayor kano · verdict: pass",
    "accepted after 2 rounds: bato",
  ]);
});
