import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvariantError } from "../core/errors.ts";
import { auditSequence, fingerprint, Ledger } from "./ledger.ts";
import { byteTokenizer } from "./testing.ts";
import type { Segment, Sequence } from "./trajectory.ts";

const tokenizer = byteTokenizer();
const eos = tokenizer.eosIds[0] as number;
const outside = (source: "prompt" | "observation" | "injected", text: string): Segment => ({
  source,
  text,
  tokens: tokenizer.encode(text),
});
const said = (text: string, change: Partial<Segment> = {}): Segment => {
  const tokens = tokenizer.encode(text);
  return {
    source: "policy",
    text,
    tokens,
    logprobs: tokens.map(() => -0.5),
    version: 3,
    finish: "stop",
    ...change,
  };
};
const sequence = (...segments: Segment[]): Sequence => ({ seat: "researcher", segments });

describe("auditSequence", () => {
  it("passes a sound sequence, end-of-text token included", () => {
    const turn = said("<answer>é</answer>");
    const ended = { ...turn, tokens: [...turn.tokens, eos], logprobs: [...(turn.logprobs ?? []), -0.1] };
    auditSequence(sequence(outside("prompt", "q"), said("a"), outside("observation", "o"), ended), tokenizer);
  });

  const violations: [string, Sequence, RegExp][] = [
    ["no segment", sequence(), /do not match/],
    ["no prompt", sequence(said("a")), /a prompt must be first/],
    ["a second prompt", sequence(outside("prompt", "q"), outside("prompt", "q")), /a prompt must be first/],
    ["an empty segment", sequence(outside("prompt", "q"), outside("injected", "")), /without tokens/],
    [
      "an unknown id",
      sequence(outside("prompt", "q"), said("a", { tokens: [999] })),
      /outside the vocabulary/,
    ],
    [
      "logprobs missing",
      sequence(outside("prompt", "q"), said("ab", { logprobs: [-1] })),
      /unequal length: got 2 and 1/,
    ],
    ["NaN", sequence(outside("prompt", "q"), said("a", { logprobs: [Number.NaN] })), /logprob out of range/],
    [
      "a positive logprob",
      sequence(outside("prompt", "q"), said("a", { logprobs: [0.1] })),
      /logprob out of range/,
    ],
    ["no version", sequence(outside("prompt", "q"), { ...said("a"), version: -1 }), /no policy version/],
    [
      "observation text under the mask",
      sequence(outside("prompt", "q"), said("a<information>x</information>", { text: "a" })),
      /not what the tokens decode to/,
    ],
    [
      "an observation that claims logprobs",
      sequence(outside("prompt", "q"), { ...outside("observation", "o"), logprobs: [-1] }),
      /only policy segments/,
    ],
    [
      "retokenised text",
      sequence(outside("prompt", "q"), { ...outside("observation", "ob"), text: "o b" }),
      /not what the tokens decode to/,
    ],
  ];
  it.each(violations)("finds %s", (_, broken, message) => {
    expect(() => auditSequence(broken, tokenizer)).toThrow(InvariantError);
    expect(() => auditSequence(broken, tokenizer)).toThrow(message);
  });

  it("finds a prompt that was not the prefix, and requests without turns", () => {
    const sound = sequence(outside("prompt", "q"), said("a"), outside("observation", "o"), said("b"));
    const sent = ["q", "qao"].map((text) => fingerprint(tokenizer.encode(text)));
    auditSequence(sound, tokenizer, { sent });
    expect(() =>
      auditSequence(sound, tokenizer, { sent: [sent[0] ?? 0, fingerprint(tokenizer.encode("qxo"))] }),
    ).toThrow(/the prompt that was sent/);
    expect(() => auditSequence(sound, tokenizer, { sent: sent.slice(0, 1) })).toThrow(
      /the prompt that was sent/,
    );
    expect(() => auditSequence(sound, tokenizer, { sent: [...sent, 0] })).toThrow(/do not match/);
  });
});

describe("Ledger", () => {
  it("rebuilds exactly what the model saw, whatever was said", () => {
    const event = fc.tuple(
      fc.constantFrom("policy", "observation", "injected"),
      fc.string({ unit: "grapheme", minLength: 1 }),
    );
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const ledger = new Ledger("researcher", outside("prompt", "question"));
        const model = tokenizer.encode("question");
        for (const [source, text] of events) {
          const tokens = tokenizer.encode(text);
          if (source === "policy") {
            expect(ledger.ask()).toEqual(model);
            ledger.sampled({ tokens, text, logprobs: tokens.map(() => -1), finish: "stop", version: 0 });
          } else ledger.shown(source as "observation", tokens, text);
          model.push(...tokens);
        }
        const { segments } = ledger.audited(tokenizer);
        expect(segments.flatMap((s) => s.tokens)).toEqual(model);
        expect(segments.slice(1).map((s) => [s.source, s.text])).toEqual(events);
        const mask = segments.flatMap((s) => s.tokens.map(() => Number(s.source === "policy")));
        const trained = events.filter(([source]) => source === "policy").map(([, text]) => text);
        expect(tokenizer.decode(model.filter((_, t) => mask[t] === 1))).toBe(trained.join(""));
      }),
    );
  });

  it("hands out prompts and sequences that later turns do not change", () => {
    const ledger = new Ledger("researcher", outside("prompt", "q"));
    const first = ledger.ask();
    const before = ledger.sequence();
    ledger.sampled({ tokens: [97], logprobs: [-1], text: "a", finish: "eos", version: 0 });
    expect(first).toEqual(tokenizer.encode("q"));
    expect(before.segments).toHaveLength(1);
  });
});
