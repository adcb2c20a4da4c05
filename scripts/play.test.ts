import { Readable } from "node:stream";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { toyProject } from "./testing/toy-project.ts";

const project = toyProject();
afterAll(() => project.remove());
afterEach(() => vi.restoreAllMocks());

/** The command with a pipe for stdin; the game itself is written to the process's own stderr, as with --json. */
async function play(input: string, ...words: string[]) {
  let game = "";
  vi.spyOn(process, "stdin", "get").mockReturnValue(
    Readable.from([input]) as unknown as typeof process.stdin,
  );
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    game += String(text);
    return true;
  });
  const result = await project.forager("play", project.at("train.yaml"), "--json", ...words);
  vi.restoreAllMocks();
  return { ...result, game };
}

test("a person's turns from a pipe: pages, gold, and the reward that a policy would have had", async () => {
  const turns = "<search> Dune </search>\n<answer> frank herbert. </answer>\n";
  const { code, game, stderr, events } = await play(turns, "--question", "q1");
  expect(code, stderr).toBe(0);
  expect(game).toMatch(
    /who wrote Dune[\s\S]*written by Frank Herbert[\s\S]*answered: 2 turns[\s\S]*Gold: Frank Herbert/,
  );
  expect(stderr).toMatch(/answer +frank herbert\. +right\nreward +1 /);
  expect(events).toMatchObject([
    { event: "result", question: "q1", outcome: "answered", reward: 1, parts: { exactMatch: 1 } },
  ]);
}, 60_000);

test("several answers share the reward; prose is no answer", async () => {
  const twice = await play("<answer> Emma </answer> <answer> Frank Herbert </answer>\n", "--question", "q1");
  expect(twice.events.at(-1)).toMatchObject({ parts: { answers: 2, exactMatch: 1 }, reward: 0.5 });
  const prose = await play("Frank Herbert\n\n", "--question", "q1");
  expect(prose.events.at(-1)).toMatchObject({ prediction: null, reward: 0 });
}, 60_000);

test("a question left open is no failure; the same seed draws the same question", async () => {
  const left = await play("<search> Emma </search>\n", "--split", "train", "--seed", "3");
  expect(left.code).toBe(0);
  expect(left.game).toContain("The question stays open");
  const again = await play("", "--split", "train", "--seed", "3");
  expect(again.events).toEqual(left.events);
  expect(left.events).toMatchObject([{ event: "result", left: true }]);
}, 60_000);
