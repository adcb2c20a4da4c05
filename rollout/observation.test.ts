import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitObservation } from "./observation.ts";
import { byteTokenizer, toyRenderer } from "./testing.ts";
import { tinyTokenizer } from "./tiny-tokenizer.ts";
import { defaultVocabulary } from "./vocabulary.ts";

const bytes = byteTokenizer();
const renderer = toyRenderer(bytes);
const open = "<information>";
const close = "</information>";
const frame = open.length + close.length;

describe("fitObservation", () => {
  it("leaves alone what fits", () => {
    const { tokens, cut } = fitObservation(
      { open, body: "abc", close, maxTokens: frame + 3 },
      bytes,
      renderer,
    );
    expect(bytes.decode(tokens)).toBe(`${open}abc${close}`);
    expect(cut).toBe(0);
  });

  it("cuts the body, never the frame, never inside a character", () => {
    const body = fc.string({ unit: "grapheme", maxLength: 60 });
    fc.assert(
      fc.property(body, fc.integer({ min: 1, max: frame + 80 }), (text, maxTokens) => {
        const { tokens, cut } = fitObservation({ open, body: text, close, maxTokens }, bytes, renderer);
        const shown = bytes.decode(tokens);
        expect(shown.startsWith(open) && shown.endsWith(close)).toBe(true);
        const kept = shown.slice(open.length, shown.length - close.length);
        expect(text.startsWith(kept)).toBe(true);
        expect(tokens.length).toBeLessThanOrEqual(Math.max(maxTokens, frame));
        const whole = Buffer.byteLength(text);
        // What is lost is what is over the budget, and at most the rest of one character.
        if (maxTokens >= frame)
          expect(whole - Buffer.byteLength(kept)).toBeLessThanOrEqual(
            Math.max(0, whole + frame - maxTokens) + 3,
          );
        expect(cut > 0).toBe(kept !== text);
      }),
    );
  });

  it("counts the wrapping of a chat format", () => {
    const chat = { ...renderer, observation: (text: string) => `[user]${text}[assistant]` };
    const { tokens } = fitObservation({ open, body: "x".repeat(99), close, maxTokens: 60 }, bytes, chat);
    expect(tokens).toHaveLength(60);
    expect(bytes.decode(tokens)).toMatch(/^\[user\]<information>x+<\/information>\[assistant\]$/);
  });

  it("cuts at words and syllables of the tiny vocabulary", () => {
    const tiny = tinyTokenizer(defaultVocabulary(["star", "studio", "."]));
    const { tokens, cut } = fitObservation(
      { open, body: "zoriba star lori . studio keda .", close, maxTokens: 8 },
      tiny,
      { prompt: (q) => tiny.encode(q), observation: (text) => text },
    );
    expect(tiny.decode(tokens)).toBe("<information> zoriba star lori </information>");
    expect(cut).toBe(5);
  });

  it("is quick on a page far over its budget", () => {
    const body = "é".repeat(20_000_000);
    const start = performance.now();
    const { tokens } = fitObservation({ open, body, close, maxTokens: 100 }, bytes, renderer);
    expect(bytes.decode(tokens).endsWith(close)).toBe(true);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
