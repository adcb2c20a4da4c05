import type { Task } from "../datasets/task.ts";
import type { Source, Trajectory } from "../rollout/trajectory.ts";

/** Public toys for tests of rewards and evaluations: no model, no tokens that mean anything. */
export const toyTask: Task = {
  id: "toy:1",
  question: "Who wrote the book?",
  goldenAnswers: ["Ada Lovelace"],
  dataset: "toy",
  hops: 1,
};

/** A finished episode; a plain string is a policy turn, a pair is text of another source. */
export function toyTrajectory(
  turns: readonly (string | readonly [Source, string])[],
  over: Partial<Trajectory> = {},
): Trajectory {
  const segments = turns.map((turn) => {
    const [source, text] = typeof turn === "string" ? (["policy", turn] as const) : turn;
    return { source, text, tokens: Array.from(text, (_, i) => i) };
  });
  return {
    task: toyTask,
    member: 0,
    sequences: [
      { seat: "researcher", segments: [{ source: "prompt", text: "Q", tokens: [0] }, ...segments] },
    ],
    outcome: "answered",
    ending: {
      outcome: "answered",
      turns: segments.filter(({ source }) => source === "policy").length,
      searches: [],
      invalidActions: 0,
      observationTokensCut: 0,
    },
    temperature: 1,
    seconds: 0,
    ...over,
  };
}
