import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadTokenizer } from "./hf-tokenizer.ts";
import { type ChatTemplate, createRenderer, loadChatTemplate } from "./renderer.ts";
import { promptConfig, workedExample } from "./renderer-config.ts";
import { tinyTokenizer } from "./tiny-tokenizer.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { toyTokenizerJson } from "./toy-bpe.ts";
import { defaultVocabulary } from "./vocabulary.ts";

const chatml =
  "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
const folder = mkdtempSync(join(tmpdir(), "forager-renderer-"));
const write = (name: string, value: unknown) =>
  writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
let tokenizer: Tokenizer;

beforeAll(() => {
  write("tokenizer.json", toyTokenizerJson("the answer of the question is the answer"));
  write("tokenizer_config.json", { eos_token: "<|im_end|>", bos_token: "<|im_start|>" });
  tokenizer = loadTokenizer(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const chat: ChatTemplate = {
  source: chatml,
  bosToken: "<|im_start|>",
  eosToken: "<|im_end|>",
  where: "test",
};
const config = promptConfig.parse({});

describe("plain", () => {
  test("is the template with the question in it", () => {
    const tiny = tinyTokenizer(defaultVocabulary(["what", "is"]));
    const renderer = createRenderer(tiny, config, undefined);
    expect(tiny.decode(renderer.prompt("what is zoriba"))).toBe("<question> what is zoriba </question>");
    expect(renderer.observation("<information> x")).toBe("<information> x");
  });

  test("takes the question literally", () => {
    const renderer = createRenderer(tokenizer, promptConfig.parse({ format: "plain" }), chat);
    expect(tokenizer.decode(renderer.prompt("$& {question}"))).toBe("<question> $& {question} </question>");
  });
});

describe("chat", () => {
  test("is the model's template, special tokens as ids, one beginning of text, an open assistant turn", () => {
    const ids = createRenderer(tokenizer, promptConfig.parse({ system: "be short" }), chat).prompt("who ?");
    expect(tokenizer.decode(ids)).toBe(
      "<|im_start|>system\nbe short<|im_end|>\n<|im_start|>user\nQuestion: who ?<|im_end|>\n<|im_start|>assistant\n",
    );
    expect(ids.filter((id) => id === 1)).toHaveLength(3);
    expect(ids[0]).toBe(1);
    expect(ids[1]).not.toBe(1);
  });

  test("an empty system text sends no system message", () => {
    const ids = createRenderer(tokenizer, promptConfig.parse({ system: "" }), chat).prompt("who ?");
    expect(tokenizer.decode(ids)).toMatch(/^<\|im_start\|>user/);
  });

  test("search results can be a user turn of the template's own making", () => {
    const renderer = createRenderer(tokenizer, promptConfig.parse({ observation: "user" }), chat);
    expect(renderer.observation("<information> x </information>")).toBe(
      "<|im_end|>\n<|im_start|>user\n<information> x </information><|im_end|>\n<|im_start|>assistant\n",
    );
  });

  test("templates are found in either place, the file first", () => {
    write("tokenizer_config.json", { chat_template: [{ name: "default", template: "in config" }] });
    expect(loadChatTemplate(folder)?.source).toBe("in config");
    write("chat_template.jinja", chatml);
    expect(loadChatTemplate(folder)?.source).toBe(chatml);
  });

  test("no template, a broken one and one that refuses are errors that say what to do", () => {
    const asChat = promptConfig.parse({ format: "chat" });
    expect(() => createRenderer(tokenizer, asChat, undefined)).toThrow(/has no chat template/);
    const broken = { ...chat, source: "{% for %}" };
    expect(() => createRenderer(tokenizer, asChat, broken)).toThrow(/cannot be parsed/);
    const refusing = { ...chat, source: "{{ raise_exception('no system role') }}" };
    expect(() => createRenderer(tokenizer, asChat, refusing).prompt("q")).toThrow(/no system role/);
  });

  test("the default prompt names every tag and its example ends in one answer, the right one", () => {
    for (const tag of ["think", "search", "information", "answer"]) {
      expect(config.system).toContain(`<${tag}>`);
      expect(config.system).toContain(`</${tag}>`);
    }
    expect(workedExample.completion.match(/<answer>(.*?)<\/answer>/gs)).toEqual([
      `<answer> ${workedExample.answer} </answer>`,
    ]);
    expect(config.system).toContain(workedExample.completion);
  });
});
