import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { DataError } from "../../core/errors.ts";
import type { StoredEpisode } from "./episode.ts";
import { type EpisodeFormat, formatOf } from "./formats.ts";
import { readEpisodes } from "./read.ts";

const folder = mkdtempSync(join(tmpdir(), "forager-episodes-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function read(records: readonly object[], format?: EpisodeFormat): Promise<StoredEpisode[]> {
  const path = join(folder, "episodes.jsonl");
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const all: StoredEpisode[] = [];
  for await (const { episode } of readEpisodes(path, format)) all.push(episode);
  return all;
}

/** One record of each kind, in its project's own keys. */
const records = {
  forager: { id: 7, question: "who?", segments: [{ source: "policy", text: "<answer> Ada </answer>" }] },
  rows: { question_id: "q1", tokenizer: "t", tokens: [1, 2], mask: [0, 1], reward: 1 },
  "r1-searcher": {
    question: "who wrote Dune",
    answer: "Frank Herbert",
    pred_ans: " Herbert ",
    stop_reason_final: "finished",
    gen_text_store:
      " I look.\n\n<|begin_of_query|> Dune<|end_of_query|>\n\n<|begin_of_documents|>\n(1)Dune by Herbert\n<|end_of_documents|>\n\nFound it.</think>\n\n <answer> Herbert </answer>",
  },
  fireact: {
    messages: [
      { role: "user", content: "who wrote Dune" },
      { role: "assistant", content: "Thought: I look.\nAction: search[Dune]" },
      { role: "user", content: "Observation: Dune by [Frank] Herbert" },
      { role: "assistant", content: "Action: finish[Herbert]" },
      { role: "user", content: "Observation: Episode finished, reward = True" },
    ],
  },
  webdancer: {
    type: "chatml",
    functions: [],
    answer: [["Ada"]],
    messages: [
      { role: "system", content: "Seek." },
      { role: "user", content: "Tools: …\n\nUser: who?" },
      { role: "assistant", content: "<answer>Ada</answer>" },
    ],
  },
  chat: {
    messages: [
      { role: "user", content: "who?" },
      { role: "assistant", content: "Ada" },
    ],
  },
} satisfies Record<EpisodeFormat, object>;

test.each(Object.entries(records))("%s is told by its first record", (name, record) => {
  expect(formatOf(record)).toBe(name);
});

describe("other projects' episodes in Forager's protocol", () => {
  const turns = [
    { source: "policy", text: "<think> I look. </think>\n<search> Dune </search>" },
    { source: "observation", text: "(1)Dune by Herbert", bare: true },
    { source: "policy", text: "<think> Found it. </think>\n<answer> Herbert </answer>" },
  ];

  test("R1-Searcher", async () => {
    const [episode] = await read([records["r1-searcher"]]);
    expect(episode).toEqual({
      id: "line 1",
      question: "who wrote Dune",
      goldenAnswers: ["Frank Herbert"],
      prediction: "Herbert",
      turns,
    });
  });

  test("R1-Searcher, cut before it answered", async () => {
    const record = { ...records["r1-searcher"], pred_ans: null, gen_text_store: "I go on and on" };
    const [episode] = await read([record]);
    expect(episode).toMatchObject({
      prediction: null,
      turns: [{ source: "policy", text: "I go on and on" }],
    });
  });

  test("FireAct: what the game says at the end is left out", async () => {
    const [episode] = await read([records.fireact]);
    expect(episode).toEqual({
      id: "line 1",
      question: "who wrote Dune",
      turns: [
        turns[0],
        { source: "observation", text: "Dune by [Frank] Herbert", bare: true },
        { source: "policy", text: "<answer> Herbert </answer>" },
      ],
    });
  });

  test("WebDancer stays a chat, with its question and gold answers", async () => {
    const [episode] = await read([records.webdancer]);
    expect(episode).toMatchObject({ question: "who?", goldenAnswers: ["Ada"] });
    expect(episode?.chat?.messages).toHaveLength(3);
  });
});

describe("chats", () => {
  const call = { id: "c", type: "function", function: { name: "search", arguments: { query: "x" } } };
  const expected = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "who?" },
    { role: "assistant", content: "", calls: [{ name: "search", arguments: '{"query":"x"}' }], train: false },
    { role: "tool", content: "seen" },
    { role: "assistant", content: "Ada" },
  ];
  const openAi = [
    { role: "developer", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "who?" }] },
    { role: "assistant", content: null, tool_calls: [call], weight: 0 },
    { role: "tool", tool_call_id: "c", content: "seen" },
    { role: "assistant", content: "Ada", weight: 1 },
  ];
  test.each([
    ["OpenAI", { messages: openAi }],
    ["TRL, prompt and completion", { prompt: openAi.slice(0, 2), completion: openAi.slice(2) }],
    ["TRL, a preference: the chosen", { prompt: openAi.slice(0, 2), chosen: openAi.slice(2), rejected: [] }],
    [
      "ShareGPT",
      {
        system: "Be brief.",
        conversations: [
          { from: "human", value: "who?" },
          { from: "function_call", value: '{"name": "search", "arguments": {"query":"x"}}', train: false },
          { from: "observation", value: "seen" },
          { from: "gpt", value: "Ada" },
        ],
      },
    ],
  ])("%s", async (_name, record) => {
    const [episode] = await read([record]);
    expect(episode?.chat?.messages).toEqual(expected);
  });
});

describe("bad records say where, what and which format", () => {
  test.each([
    ["nothing of ours", [{ text: "hello" }], undefined, /:1: these are no episodes.*object with text/],
    ["no turn of the policy", [{ id: "1", segments: [] }], undefined, /:1: field `segments`.*policy segment/],
    [
      "nothing to learn",
      [{ messages: [{ role: "user", content: "x" }] }],
      undefined,
      /the assistant to learn/,
    ],
    ["another role", [{ messages: [{ role: "robot", content: "x" }] }], undefined, /messages\.0\.role/],
    [
      "a mask too short",
      [{ tokenizer: "t", tokens: [1, 2], mask: [1] }],
      undefined,
      /`mask`.*as long as tokens/,
    ],
    ["later lines of another kind", [records.chat, records.rows], undefined, /:2: field `messages`/],
    ["another format than named", [records.chat], "r1-searcher", /:1: field `question`.*format r1-searcher/],
    [
      "an act that is none",
      [
        {
          messages: [
            { role: "user", content: "q" },
            { role: "assistant", content: "Action: jump[x]" },
          ],
        },
      ],
      undefined,
      /Action: search/,
    ],
  ] as const)("%s", async (_name, lines, format, message) => {
    await expect(read(lines, format)).rejects.toThrow(DataError);
    await expect(read(lines, format)).rejects.toThrow(message);
  });
});
