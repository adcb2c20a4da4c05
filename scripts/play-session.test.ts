import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { ToolError } from "../core/errors.ts";
import { envConfig } from "../env/config.ts";
import { researcher } from "../env/researcher.ts";
import { tinyIndex } from "../env/testing.ts";
import { play } from "./play-session.ts";

const task = {
  id: "q",
  question: "Who directed Blue Harbour?",
  goldenAnswers: ["Tom Vale"],
  dataset: "toy",
  hops: 1,
};
const index = tinyIndex([{ id: "a", title: "Blue Harbour", text: "Its director is Tom Vale" }]);

async function type(lines: string[], options: { failing?: Error; signal?: AbortSignal } = {}) {
  const retriever = options.failing ? tinyIndex([], { failing: options.failing }) : index;
  const environment = researcher({ retriever, config: envConfig.parse({}), seed: 1 });
  const output = new PassThrough();
  const input = Readable.from(lines.map((line) => `${line}\n`));
  const { signal } = options;
  const ending = await play({
    environment,
    task,
    input,
    output,
    interactive: false,
    ...(signal && { signal }),
  });
  return { ending, text: String(output.read() ?? "") };
}

describe("play", () => {
  it("lets a person search and answer, in plain text for a pipe", async () => {
    const { ending, text } = await type([
      "<think>let me",
      "see</think> <search>blue harbour</search>",
      "<answer>Tom Vale</answer>",
    ]);
    expect(ending).toMatchObject({ outcome: "answered", turns: 2 });
    expect(ending?.searches[0]?.query).toBe("blue harbour");
    expect(text).toContain("<information>Doc 1(Title: Blue Harbour) Its director is Tom Vale</information>");
    expect(text).toContain("Gold: Tom Vale");
    expect(text).not.toContain("\u001b");
  });

  it("an empty line ends a turn without an action", async () => {
    expect((await type(["I give up", ""])).ending?.outcome).toBe("no_answer");
  });

  it("ends politely when the input ends", async () => {
    const { ending, text } = await type(["<search>blue</search>", "half a line"]);
    expect(ending).toBeUndefined();
    expect(text).toContain("Left the game");
  });

  it("ends politely when it is interrupted", async () => {
    expect((await type(["<answer>x</answer>"], { signal: AbortSignal.abort() })).ending).toBeUndefined();
  });

  it("passes on a failure of the search engine", async () => {
    await expect(type(["<search>x</search>"], { failing: new ToolError({ what: "down" }) })).rejects.toThrow(
      "down",
    );
  });
});
