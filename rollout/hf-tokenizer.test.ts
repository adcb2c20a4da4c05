import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataError } from "../core/errors.ts";
import { loadTokenizer } from "./hf-tokenizer.ts";
import { StopText } from "./stop-text.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { toyTokenizerJson } from "./toy-bpe.ts";
import { defaultVocabulary } from "./vocabulary.ts";

const training = "the search for the answer of the search is the answer . 東京 is the capital . ".repeat(3);
const folder = mkdtempSync(join(tmpdir(), "forager-tokenizer-"));
const write = (name: string, value: unknown) =>
  writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
let tokenizer: Tokenizer;

beforeAll(() => {
  write("tokenizer.json", toyTokenizerJson(training, 20));
  write("tokenizer_config.json", { eos_token: "<|im_end|>", pad_token: { content: "<|endoftext|>" } });
  write("config.json", { eos_token_id: 2 });
  write("generation_config.json", { eos_token_id: [2, 0] });
  tokenizer = loadTokenizer(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("Hugging Face tokenizer", () => {
  test("reads end and padding ids from every file that names them", () => {
    expect(tokenizer.eosIds).toEqual([2, 0]);
    expect(tokenizer.padId).toBe(0);
    expect(tokenizer.vocabSize).toBe(3 + 256 + 20);
    expect(tokenizer.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  test("merges are used, special tokens recognised and kept", () => {
    expect(tokenizer.encode("the search").length).toBeLessThan(5);
    const ids = tokenizer.encode("<|im_start|>user\nwho?<|im_end|>");
    expect(ids[0]).toBe(1);
    expect(ids.at(-1)).toBe(2);
    expect(tokenizer.decode(ids)).toBe("<|im_start|>user\nwho?<|im_end|>");
    expect(tokenizer.encode("")).toEqual([]);
    expect(tokenizer.decode([])).toBe("");
    expect(tokenizer.decode([1, 99_999])).toBe("<|im_start|>");
  });

  test("decode(encode(text)) is the text, byte for byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 30 }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
    );
    expect(tokenizer.decode(tokenizer.encode("it 's , odd  . 🌍 東京"))).toBe("it 's , odd  . 🌍 東京");
  });

  test("a folder with vocabulary.json is the tiny vocabulary", () => {
    const own = mkdtempSync(join(tmpdir(), "forager-vocabulary-"));
    writeFileSync(join(own, "vocabulary.json"), JSON.stringify(defaultVocabulary(["star"])));
    expect(loadTokenizer(own).encode("<search> star")).toHaveLength(2);
    writeFileSync(join(own, "vocabulary.json"), "{ not json");
    expect(() => loadTokenizer(own)).toThrow(/vocabulary\.json: malformed JSON/);
    rmSync(own, { recursive: true });
  });

  test.each([
    ["missing folder", {}, /does not exist/],
    ["no tokenizer", { "config.json": "{}" }, /no tokenizer/],
    ["malformed", { "tokenizer.json": '{"model":' }, /malformed JSON/],
    ["pointer instead of content", { "tokenizer.json": '{"model": 3}' }, /unexpected content at "model"/],
    ["unknown model", { "tokenizer.json": '{"model": {"type": "Odd"}}' }, /cannot be built/],
    ["no end of text", { "tokenizer.json": toyTokenizerJson("aa bb") }, /no end-of-text token/],
    [
      "end of text outside",
      { "tokenizer.json": toyTokenizerJson("aa bb"), "config.json": { eos_token_id: 5000 } },
      /outside the vocabulary/,
    ],
  ])("%s is a DataError", (_, files, message) => {
    const bad = mkdtempSync(join(tmpdir(), "forager-bad-"));
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(bad, name), typeof content === "string" ? content : JSON.stringify(content));
    if (Object.keys(files).length === 0) rmSync(bad, { recursive: true });
    expect(() => loadTokenizer(bad)).toThrow(DataError);
    expect(() => loadTokenizer(bad)).toThrow(message);
    rmSync(bad, { recursive: true, force: true });
  });
});

describe("stop strings on text", () => {
  const firstStop = (text: string, stop: string[]) => {
    const watch = new StopText(tokenizer, stop);
    const ids = tokenizer.encode(text);
    const at = ids.findIndex((id) => watch.push(id));
    return at < 0 ? undefined : tokenizer.decode(ids.slice(0, at + 1));
  };

  test("a stop string is seen when its last token comes, wherever tokens are cut", () => {
    expect(firstStop("<search> x </search> more", ["</search>"])).toBe("<search> x </search>");
    expect(firstStop("<answer> x </answer> more", ["</search>"])).toBeUndefined();
    expect(firstStop("anything", [])).toBeUndefined();
    expect(firstStop("a b c", ["zz", "b"])).toBe("a b");
  });

  test("a character cut across tokens is whole before it is looked at", () => {
    expect(tokenizer.encode("🌍").length).toBeGreaterThan(1);
    expect(firstStop("go 🌍 on", ["🌍"])).toBe("go 🌍");
    expect(firstStop("go 🌍 on", ["\ufffd"])).toBeUndefined();
  });

  test("bytes that never become a character do not hide a stop string", () => {
    const lone = tokenizer.encode("🌍")[0] as number;
    const watch = new StopText(tokenizer, ["end"]);
    const ids = [...Array<number>(20).fill(lone), ...tokenizer.encode("end")];
    expect(ids.findIndex((id) => watch.push(id))).toBe(ids.length - 1);
  });

  test("agrees with a search in the whole text", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "東", "é"), maxLength: 25 });
    fc.assert(
      fc.property(text, fc.constantFrom("ab", "b a", "東", "aé", "bbb"), (body, stop) => {
        const watch = new StopText(tokenizer, [stop]);
        const ids = tokenizer.encode(body);
        const at = ids.findIndex((id) => watch.push(id));
        const prefixes = ids.map((_, i) => tokenizer.decode(ids.slice(0, i + 1)));
        expect(at).toBe(prefixes.findIndex((prefix) => prefix.includes(stop)));
      }),
    );
  });
});
