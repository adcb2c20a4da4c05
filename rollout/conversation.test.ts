import { describe, expect, test } from "vitest";
import type { Chat as StoredChat } from "../datasets/episodes/episode.ts";
import type { Environment } from "../env/environment.ts";
import { templateChat } from "./chat.ts";
import { type Conversation, conversationOf, type Wording } from "./conversation.ts";
import { rollEpisode } from "./episode.ts";
import { createRenderer, wordingOf } from "./renderer.ts";
import { promptConfig } from "./renderer-config.ts";
import { type EpisodeReader, segmentsOf } from "./stored-episode.ts";
import { byteTokenizer, type Line, lines, scriptedSampler } from "./testing.ts";
import type { Segment, Sequence } from "./trajectory.ts";

const tokenizer = byteTokenizer();
const marks = { open: "\n<information>", close: "</information>\n" };
const template = {
  source:
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}<eos>\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}",
  bosToken: "",
  eosToken: "<eos>",
  where: "toy",
};
const task = { id: "q1", question: "who wrote Dune", goldenAnswers: ["Herbert"], dataset: "toy", hops: 1 };

interface Setting {
  readonly wording: Wording;
  readonly reader: EpisodeReader;
}

function setting(prompt: Record<string, unknown>): Setting {
  const config = promptConfig.parse({ system: "Search.", ...prompt });
  const renderer = createRenderer(tokenizer, config, template);
  const observation = { ...marks, maxTokens: 500 };
  return {
    wording: { tokenizer, renderer, observation, ...wordingOf(config, template) },
    reader: { tokenizer, renderer, observation, chat: templateChat(template) },
  };
}

/** What the harness says after each turn: a passage, a correction, or nothing more. */
type Reply = { readonly seen: string } | { readonly corrected: string };

async function play(
  { wording }: Setting,
  said: readonly Line[],
  replies: readonly Reply[],
): Promise<Sequence> {
  const environment: Environment = {
    name: "toy",
    seats: ["researcher"],
    async play(_question, seats) {
      const seat = seats.researcher!;
      for (const reply of replies) {
        await seat.act({ stop: ["</search>"], maxTokens: 200 });
        await seat.observe(
          "seen" in reply ? { ...marks, body: reply.seen, maxTokens: 500 } : reply.corrected,
        );
      }
      await seat.act({ stop: ["</search>"], maxTokens: 200 });
      return {
        outcome: "answered",
        turns: said.length,
        searches: [],
        invalidActions: 0,
        observationTokensCut: 0,
      };
    },
  };
  const { sequences } = await rollEpisode({
    ...{ task, member: 0, environment, tokenizer, renderer: wording.renderer, seed: 1, step: 0 },
    sampler: scriptedSampler(tokenizer, lines(said)),
    decoding: { temperature: 1, topP: 1, topK: 0 },
  });
  return sequences[0]!;
}

const chatOf = ({ opening, said, layout, ended }: Conversation): StoredChat => ({
  ...{ messages: [...opening, ...said], ended },
  ...(layout ? { layout } : {}),
});
const idsOf = (segments: readonly Segment[]) => segments.flatMap(({ tokens }) => tokens);
const maskOf = (segments: readonly Segment[]) =>
  segments.flatMap(({ source, tokens }) => tokens.map(() => (source === "policy" ? 1 : 0)));
const keep = { toolCalls: false, trainInvalid: false };

const settings = {
  plain: setting({ format: "plain" }),
  inline: setting({ format: "chat" }),
  user: setting({ format: "chat", observation: "user" }),
};
const search = ["<think>hm</think><search> Dune </search>", "<answer> Herbert </answer>"];

describe.each(Object.entries(settings))("episodes of the layout %s", (layout, at) => {
  test.each([
    ["one turn", ["<answer> Herbert </answer>"], []],
    ["a search", search, [{ seen: "Dune is by Herbert" }]],
    ["a turn that was cut", [search[0]!, { text: "<answer> Her", finish: "length" }], [{ seen: "Dune" }]],
    ["two searches", [search[0]!, ...search], [{ seen: "a" }, { seen: "b\nc" }]],
  ] as const)("%s: the messages alone render to the very ids and mask", async (_name, said, replies) => {
    const sequence = await play(at, said, replies);
    const conversation = conversationOf(task.question, sequence, at.wording, keep)!;
    expect(conversation.layout).toBe(layout);
    expect(conversation.tokens).toEqual(idsOf(sequence.segments));
    expect(conversation.said.map(({ role }) => role)).toEqual(
      sequence.segments.slice(1).map(({ source }) => (source === "policy" ? "assistant" : "user")),
    );
    const again = segmentsOf({ id: "q1", chat: chatOf(conversation) }, at.reader);
    expect(idsOf(again)).toEqual(conversation.tokens);
    expect(maskOf(again)).toEqual(conversation.mask);
  });

  test("the ids of a row are taken as they are, whatever its text says", async () => {
    const sequence = await play(at, search, [{ seen: "x" }]);
    const { tokens, mask } = conversationOf(task.question, sequence, at.wording, keep)!;
    const chat = { messages: [{ role: "assistant", content: "another" } as const] };
    const own = segmentsOf({ id: "q1", chat, ids: { tokenizer: "bytes", tokens, mask } }, at.reader);
    expect([idsOf(own), maskOf(own)]).toEqual([tokens, mask]);
    const others = segmentsOf({ id: "q1", chat, ids: { tokenizer: "words", tokens, mask } }, at.reader);
    expect(others.at(-1)?.text).toBe("another");
    expect(() => segmentsOf({ id: "q1", ids: { tokenizer: "words", tokens, mask } }, at.reader)).toThrow(
      /only ids of another tokenizer/,
    );
  });

  test("a turn that was corrected is shown and not learnt from, unless one asks", async () => {
    const said = ["<search> </search>", ...search];
    const sequence = await play(at, said, [{ corrected: "The search was empty." }, { seen: "x" }]);
    const flags = (trainInvalid: boolean) => {
      const conversation = conversationOf(task.question, sequence, at.wording, { ...keep, trainInvalid })!;
      const again = segmentsOf({ id: "q1", chat: chatOf(conversation) }, at.reader);
      expect(maskOf(again)).toEqual(conversation.mask);
      return conversation.said.filter(({ role }) => role === "assistant").map(({ train }) => train !== false);
    };
    expect(flags(false)).toEqual([false, true, true]);
    expect(flags(true)).toEqual([true, true, true]);
  });

  test("searches as calls: no tags, no marks, and back in tags for a policy of ours", async () => {
    const sequence = await play(at, search, [{ seen: "Dune is by Herbert" }]);
    const {
      said,
      opening,
      layout: none,
    } = conversationOf(task.question, sequence, at.wording, {
      ...keep,
      toolCalls: true,
    })!;
    expect(none).toBeUndefined();
    expect(opening.at(-1)).toEqual({ role: "user", content: "who wrote Dune" });
    expect(said).toEqual([
      {
        role: "assistant",
        content: "<think>hm</think>",
        calls: [{ name: "search", arguments: '{"query":"Dune"}' }],
      },
      { role: "tool", content: "Dune is by Herbert" },
      { role: "assistant", content: "<answer> Herbert </answer>" },
    ]);
  });
});

test("what follows the last turn is left out, and a prompt that is no opening of the run's is one message", () => {
  const at = settings.inline;
  const segment = (source: Segment["source"], text: string): Segment => ({
    ...{ source, text, tokens: tokenizer.encode(text) },
    ...(source === "policy"
      ? { logprobs: [...text].map(() => -1), version: 0, finish: "stop" as const }
      : {}),
  });
  const segments = [segment("prompt", "Hi. "), segment("policy", "Yes."), segment("observation", "late")];
  const conversation = conversationOf("another question", { seat: "agent", segments }, at.wording, keep)!;
  expect(chatOf(conversation)).toEqual({
    messages: [
      { role: "user", content: "Hi. " },
      { role: "assistant", content: "Yes." },
    ],
    layout: "plain",
    ended: false,
  });
  expect(idsOf(segmentsOf({ id: "q1", chat: chatOf(conversation) }, at.reader))).toEqual(conversation.tokens);
  const silent = { seat: "agent", segments: segments.slice(0, 1) };
  expect(conversationOf("another question", silent, at.wording, keep)).toBeUndefined();
});

describe.each(Object.entries(settings))("a role's conversation, layout %s", (layout, { wording, reader }) => {
  const words = { plain: "<planner> {question}\n", system: "You plan.", user: "Plan: {question}" };
  const seats: Environment = {
    name: "roles",
    seats: ["drafter", "planner"],
    prompts: { planner: words },
    async play(_question, { planner }) {
      for (const news of ["path: a", "verdict: fail", ""]) {
        if (news !== "") await planner!.observe(news);
        await planner!.act({ stop: ["</search>"], maxTokens: 200 });
      }
      return { outcome: "answered", turns: 3, searches: [], invalidActions: 0, observationTokensCut: 0 };
    },
  };
  const rolled = () =>
    rollEpisode({
      ...{ task, member: 0, environment: seats, tokenizer, renderer: wording.renderer, seed: 1, step: 0 },
      sampler: scriptedSampler(tokenizer, lines(["<propose>x", "<revise>y", "<confirm>z"])),
      decoding: { temperature: 1, topP: 1, topK: 0 },
    });

  test("opens with its own words, and turns that ended themselves render to the very ids", async () => {
    const sequence = (await rolled()).sequences[0]!;
    const own = { ...wording, words: { planner: words }, broke: () => false };
    const conversation = conversationOf(task.question, sequence, own, keep)!;
    expect(conversation.layout).toBe(layout);
    expect(conversation.opening.at(-1)?.content).toContain(layout === "plain" ? "<planner>" : "Plan: who");
    expect(conversation.mask.reduce((n: number, m) => n + m, 0)).toBe(
      "<propose>x<revise>y<confirm>z".length + 3,
    );
    const again = segmentsOf({ id: "q1", chat: chatOf(conversation) }, reader);
    expect(idsOf(again)).toEqual(idsOf(sequence.segments));
    expect(maskOf(again)).toEqual(conversation.mask);
  });

  test("a turn that broke the protocol is not learnt from, news after a good one are no correction", async () => {
    const sequence = (await rolled()).sequences[0]!;
    const broke = (_seat: string, { text }: Segment) => text.startsWith("<revise>");
    const { said } = conversationOf(
      task.question,
      sequence,
      { ...wording, words: { planner: words }, broke },
      keep,
    )!;
    const flags = said.filter(({ role, content }) => role === "assistant" && content !== "");
    expect(flags.map(({ train }) => train !== false)).toEqual([true, false, true]);
  });
});
