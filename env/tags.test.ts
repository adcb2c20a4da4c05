import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { doneBlocks, scanTags } from "./tags.ts";

const brief = (text: string) =>
  scanTags(text).map((b) => `${b.tag}${b.closed ? "" : "!"}${b.insideThink ? "?" : ""}:${b.text}`);

describe("scanTags", () => {
  const cases: [string, string[]][] = [
    ["no tags < here > at </all>", []],
    ["<think>a</think><answer> Paris </answer>", ["think:a", "answer: Paris "]],
    [
      "<think>x <answer>no</answer></think><answer>yes</answer>",
      ["think:x <answer>no</answer>", "answer?:no", "answer:yes"],
    ],
    [
      "<think>a<think>b</think>c</think><answer>d</answer>",
      ["think:a<think>b</think>c", "think?:b", "answer:d"],
    ],
    [
      "<think>a<think>b</think><answer>d</answer>",
      ["think!:a<think>b</think><answer>d</answer>", "think?:b", "answer?:d"],
    ],
    ["<think>never closed <answer>x</answer>", ["think!:never closed <answer>x</answer>", "answer?:x"]],
    ["<search><search>q</search>", ["search!:<search>q</search>", "search:q"]],
    ["<answer>a<answer>b</answer></answer>", ["answer:a<answer>b</answer>", "answer:b"]],
    ["<answer>see <search>q</search>", ["answer!:see <search>q</search>", "search:q"]],
    [
      "<answer>a<think>b</answer></think></answer>",
      ["answer:a<think>b</answer></think>", "think:b</answer>"],
    ],
    ["</search></think>x</answer>", []],
    ["<search>a</search></search><answer>b", ["search:a", "answer!:b"]],
    ["<search>a<answer>b</search>c", ["search:a<answer>b", "answer!:b"]],
    ["<Answer>a</Answer><answer >b</answer>", []],
    ["<<answer>x</answer>>", ["answer:x"]],
    ["<answer>\n</answer>", ["answer:\n"]],
  ];
  it.each(cases)("%s", (text, expected) => {
    expect(brief(text)).toEqual(expected);
  });

  const hostile = fc
    .array(
      fc.oneof(
        fc.constantFrom(
          "<think>",
          "</think>",
          "<search>",
          "</search>",
          "<answer>",
          "</answer>",
          "<",
          "</",
          ">",
          "answer",
        ),
        fc.string({ unit: "binary", maxLength: 4 }),
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join(""));

  it("gives blocks whose places and texts are those of the text, in order, nested or apart", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const blocks = scanTags(text);
        let last = -1;
        for (const b of blocks) {
          expect(b.start).toBeGreaterThan(last);
          last = b.start;
          expect(text.startsWith(`<${b.tag}>`, b.start)).toBe(true);
          const inner = b.start + b.tag.length + 2;
          const close = `</${b.tag}>`;
          expect(text.slice(inner, b.end)).toBe(b.closed ? b.text + close : b.text);
          for (const other of blocks) {
            const apart = other.end <= b.start || other.start >= b.end;
            const inside = other.start >= b.start && other.end <= b.end;
            const around = other.start <= b.start && other.end >= b.end;
            expect(apart || inside || around).toBe(true);
          }
          const thinks = blocks.some((t) => t.tag === "think" && t.start < b.start && t.end >= b.end);
          expect(b.insideThink).toBe(thinks);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("agrees with a plain regular expression where nothing nests", () => {
    const word = fc.stringMatching(/^[a-z ]{0,8}$/);
    const block = fc.tuple(fc.constantFrom("think", "search", "answer"), word, word);
    fc.assert(
      fc.property(fc.array(block, { maxLength: 8 }), (parts) => {
        const text = parts.map(([tag, inner, after]) => `<${tag}>${inner}</${tag}>${after}`).join("");
        const expected = [...text.matchAll(/<(think|search|answer)>(.*?)<\/\1>/g)].map(
          (m) => `${m[1]}:${m[2]}`,
        );
        expect(brief(text)).toEqual(expected);
      }),
    );
  });

  it("takes time linear in the text, whatever is in it", () => {
    const n = 200_000;
    const texts = [
      "<",
      "</",
      "<think>",
      "<answer>",
      "</answer>",
      "<think><answer>",
      "<answer><think></answer>",
      "<search></think>",
    ].map((part) => part.repeat(Math.ceil(n / part.length)));
    texts.push(
      "<answer>".repeat(n / 16) + "</answer>".repeat(n / 16),
      "<think>".repeat(n / 14) + "</think></answer>".repeat(n / 18),
    );
    const start = performance.now();
    for (const text of texts) scanTags(text);
    expect(performance.now() - start).toBeLessThan(3000); // Quadratic would take minutes.
  });
});

describe("doneBlocks", () => {
  it("keeps closed blocks outside think", () => {
    const text = "<think><answer>a</answer></think><answer>b</answer><answer>c";
    expect(doneBlocks(text, "answer").map((b) => b.text)).toEqual(["b"]);
  });
});
