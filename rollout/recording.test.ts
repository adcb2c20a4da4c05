import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Recording } from "./recording.ts";
import { byteTokenizer } from "./testing.ts";

const tokenizer = byteTokenizer();
const { encode, decode } = tokenizer;
const turn = (text: string, finish: "eos" | "stop" = "eos") => {
  const tokens = [...encode(text), ...(finish === "eos" ? [256] : [])];
  return { tokens, logprobs: tokens.map(() => -0.5), finish, version: 3 };
};
const shape = async (recording: Recording) =>
  (await recording.sequences("agent", decode, tokenizer)).map(({ segments }) =>
    segments.map(({ source, text }) => [source, text]),
  );

describe("Recording", () => {
  it("joins a call that extends what a sequence holds; what stands between is an observation", async () => {
    const recording = new Recording();
    recording.begin(encode("Q:")).add(turn("look"));
    const second = recording.begin([...encode("Q:look"), 256, ...encode(" seen: ")]);
    second.add(turn("done", "stop"));
    recording.begin([...encode("Q:look"), 256, ...encode(" seen: done")]).add(turn("!"));
    expect(await shape(recording)).toEqual([
      [
        ["prompt", "Q:"],
        ["policy", "look"],
        ["observation", " seen: "],
        ["policy", "done"],
        ["policy", "!"],
      ],
    ]);
  });

  it("begins a sequence for any other call, the same prompt again included", async () => {
    const recording = new Recording();
    const first = recording.begin(encode("Q:"));
    first.add(turn("a"));
    recording.begin(encode("Q:")).add(turn("b"));
    recording.begin(encode("Q:a, but another way")).add(turn("c"));
    expect(await shape(recording)).toEqual([
      [
        ["prompt", "Q:"],
        ["policy", "a"],
      ],
      [
        ["prompt", "Q:"],
        ["policy", "b"],
      ],
      [
        ["prompt", "Q:a, but another way"],
        ["policy", "c"],
      ],
    ]);
  });

  it("gives two calls at the same time, of the same beginning, two sequences", async () => {
    const recording = new Recording();
    recording.begin(encode("Q:")).add(turn("a", "stop"));
    const [left, right] = [recording.begin(encode("Q:a 1")), recording.begin(encode("Q:a 2"))];
    expect(left?.sequence).not.toBe(right?.sequence);
    right?.add(turn("r"));
    left?.add(turn("l"));
    expect((await shape(recording)).map((segments) => segments.at(-1)?.[1])).toEqual(["l", "r"]);
    expect((await shape(recording))[1]?.[0]).toEqual(["prompt", "Q:a 2"]);
  });

  it("leaves no trace of a call that failed, or that said nothing", async () => {
    const recording = new Recording();
    recording.begin(encode("Q:")).drop();
    recording.begin(encode("Q:")).add({ ...turn(""), tokens: [], logprobs: [] });
    expect(await shape(recording)).toEqual([]);
    const call = recording.begin(encode("Q:"));
    call.add(turn("a", "stop"));
    recording.begin(encode("Q:a")).drop();
    recording.begin(encode("Q:a")).add(turn("b"));
    expect(await shape(recording)).toHaveLength(1);
  });

  it("keys calls by what they ask: not by when they come, and a repeat apart", () => {
    const keys = (order: string[]) => {
      const recording = new Recording();
      return new Map(order.map((text) => [text, recording.begin(encode(text)).key]));
    };
    expect(keys(["a", "b"])).toEqual(keys(["b", "a"]));
    const recording = new Recording();
    expect(recording.begin([1]).key).not.toBe(recording.begin([1]).key);
  });

  it("is audited: a logprob that cannot be is a bug that is seen", async () => {
    const recording = new Recording();
    recording.begin(encode("Q:")).add({ ...turn("a"), logprobs: [-1, Number.NaN] });
    await expect(recording.sequences("agent", decode, tokenizer)).rejects.toThrow(/logprob out of range/);
  });

  it("keeps every sampled id once, in sequences that are what the model saw, whatever the calls are", async () => {
    const step = fc.record({
      from: fc.nat(9),
      added: fc.array(fc.nat(3), { maxLength: 3 }),
      said: fc.array(fc.nat(3), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        const recording = new Recording();
        const seen: number[][] = [[1]];
        const sampled: number[][] = [];
        for (const { from, added, said } of steps) {
          const prompt = [...(seen[from % seen.length] as number[]), ...added];
          recording
            .begin(prompt)
            .add({ tokens: said, logprobs: said.map(() => -1), finish: "stop", version: 0 });
          seen.push([...prompt, ...said]);
          if (said.length > 0) sampled.push(said);
        }
        const sequences = await recording.sequences("agent", decode, tokenizer);
        const policy = sequences.flatMap((s) =>
          s.segments.filter((g) => g.source === "policy").map((g) => g.tokens),
        );
        const sorted = (all: readonly (readonly number[])[]) => all.map((ids) => ids.join()).sort();
        expect(sorted(policy)).toEqual(sorted(sampled));
        for (const { segments } of sequences) {
          const all = segments.flatMap((g) => g.tokens);
          expect(seen.some((ids) => ids.join() === all.join())).toBe(true);
        }
      }),
    );
  });
});
