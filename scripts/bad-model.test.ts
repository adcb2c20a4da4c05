import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { complaintOf } from "./testing/complaint.ts";
import { type Project, toyProject } from "./testing/toy-project.ts";

let project: Project;
beforeEach(() => {
  project = toyProject();
});
afterEach(() => project.remove());

const complaint = (...overrides: string[]) => complaintOf(project, overrides);

describe("the model", () => {
  const model = (name: string, more = "") => `model={path: ${project.at(name)}, training: full${more}}`;

  test("no such folder", async () => {
    expect(await complaint(model("nowhere"))).toMatchInlineSnapshot(`
      "error: the model folder does not exist
        where    DIR/nowhere
        next     Check \`model.path\`; it must be a local Hugging Face folder."
    `);
  });
  test("without config.json", async () => {
    mkdirSync(project.at("base"));
    copyFileSync(`${project.model("whole")}/vocabulary.json`, project.at("base/vocabulary.json"));
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: not a model folder
        where    DIR/base
        got      no config.json
        expected a Hugging Face folder: config.json, *.safetensors and tokenizer.json
        next     Check the path; a run's policy is in its checkpoints/."
    `);
  });
  test("without a tokenizer", async () => {
    mkdirSync(project.at("base"));
    copyFileSync(`${project.model("whole")}/config.json`, project.at("base/config.json"));
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: no tokenizer
        where    DIR/base
        got      neither tokenizer.json nor vocabulary.json
        expected a Hugging Face folder with tokenizer.json (the fast tokenizer's file)
        next     Copy tokenizer.json from the model's page, or save it with AutoTokenizer.save_pretrained."
    `);
  });
  test("truncated weights", async () => {
    truncateSync(`${project.model("base")}/model.safetensors`, 2000);
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the file is cut short
        where    DIR/base/model.safetensors
        got      2000 bytes
        expected 15696 bytes
        next     Copy or download the file again: it is cut short or not a safetensors file."
    `);
  });
  test("weights cut in the header", async () => {
    truncateSync(`${project.model("base")}/model.safetensors`, 100);
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the header is cut short
        where    DIR/base/model.safetensors
        got      a file of 100 bytes
        expected a header of 1096 bytes
        next     Copy or download the file again: it is cut short or not a safetensors file."
    `);
  });
  test("weights of another model", async () => {
    copyFileSync(
      `${project.model("other", { hidden: 32 })}/model.safetensors`,
      `${project.model("base")}/model.safetensors`,
    );
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the weights do not match config.json
        where    DIR/base
        got      11 of another shape (model.embed_tokens.weight [113,32] instead of [113,16], model.layers.0.input_layernorm.weight [32] instead of [16], model.layers.0.self_attn.q_proj.weight [32,32] instead of [16,16] ...)
        next     Check that config.json and the safetensors come from the same model, whole and undamaged."
    `);
  });
  test("a tokenizer with more tokens than the model", async () => {
    const words = ["one", "two", "three", "four", "five"];
    copyFileSync(
      `${project.model("other", { words })}/vocabulary.json`,
      `${project.model("base")}/vocabulary.json`,
    );
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: the tokenizer has more tokens than the model
        where    DIR/base
        got      114 tokens
        expected at most 113, the vocab_size of config.json
        next     Use the tokenizer files that came with the model."
    `);
  });
  test("another family", async () => {
    const folder = project.model("base");
    const config = JSON.parse(readFileSync(`${folder}/config.json`, "utf8")) as object;
    writeFileSync(`${folder}/config.json`, JSON.stringify({ ...config, model_type: "mamba" }));
    expect(await complaint(model("base"))).toMatchInlineSnapshot(`
      "error: \`model_type\` is not supported
        where    DIR/base/config.json
        got      "mamba"
        expected llama, qwen2, qwen3
        next     Use a model of the Llama, Qwen2, Qwen3 or SmolLM2 families with plain weights."
    `);
  });
  test("a context beyond the model's", async () => {
    project.model("base");
    expect(await complaint(model("base", ", contextTokens: 4096"))).toMatchInlineSnapshot(`
      "error: the context is longer than the model's
        where    model.contextTokens
        got      4096
        expected at most 96
        next     Lower it, or leave it out to use the model's own."
    `);
  });
  test("an adapter that is none", async () => {
    project.model("base");
    mkdirSync(project.at("adapter"));
    const lora = `model={path: ${project.at("base")}, adapter: ${project.at("adapter")}}`;
    expect(await complaint(lora)).toMatchInlineSnapshot(`
      "error: not an adapter folder
        where    DIR/adapter
        got      no adapter_config.json
        expected adapter_config.json and adapter_model.safetensors, as PEFT's save_pretrained writes them
        next     Check the path."
    `);
  });
});
