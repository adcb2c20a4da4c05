import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CheckpointError } from "../../core/errors.ts";
import { readSafetensors, writeSafetensors } from "../../engine/safetensors.ts";
import { readHfConfig } from "./hf-config.ts";
import { initLora, type LoraConfig, loraScale } from "./lora.ts";
import { readAdapter, writeAdapter } from "./peft.ts";
import { toyConfig } from "./testing.ts";

const golden = join(import.meta.dirname, "golden");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-peft-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("PEFT's own folders are read: settings, and projections from the tensors", () => {
  const at = (name: string) => readAdapter(join(golden, name, "adapter"), readHfConfig(join(golden, name)));
  expect(at("qwen2").lora).toMatchObject({ rank: 2, alpha: 8, rsLora: false });
  const { lora, params } = at("qwen3");
  expect(lora).toEqual({ rank: 4, alpha: 8, rsLora: true, targetModules: ["q_proj", "v_proj", "down_proj"] });
  expect(loraScale(lora)).toBe(4);
  expect(Object.keys(params)).toHaveLength(12);
});

test("what is written is read, bit for bit, and looks like PEFT's", () => {
  const config = toyConfig({});
  const lora: LoraConfig = { rank: 3, alpha: 5, rsLora: true, targetModules: ["v_proj", "o_proj"] };
  const params = initLora(config, lora, 1);
  writeAdapter(folder, { lora, params, base: "models/toy" });
  expect(readAdapter(folder, config)).toEqual({ lora, params });
  const file = JSON.parse(readFileSync(join(folder, "adapter_config.json"), "utf8"));
  expect(file).toMatchObject({
    peft_type: "LORA",
    r: 3,
    lora_alpha: 5,
    use_rslora: true,
    target_modules: ["v_proj", "o_proj"],
    bias: "none",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: "models/toy",
  });
});

describe("what we cannot honour is refused by name", () => {
  const config = readHfConfig(join(golden, "llama"));
  beforeEach(() => cpSync(join(golden, "llama", "adapter"), folder, { recursive: true }));
  test.each([
    ["peft_type", "IA3", /`peft_type`.*expected LORA, got "IA3"/],
    ["use_dora", true, /`use_dora`/],
    ["rank_pattern", { "layers.0": 8 }, /`rank_pattern`.*got \{"layers.0":8\}/],
    ["alpha_pattern", { "layers.0": 8 }, /`alpha_pattern`/],
    ["modules_to_save", ["lm_head"], /`modules_to_save`/],
    ["bias", "all", /`bias`.*expected none/],
    ["lora_bias", true, /`lora_bias`/],
    ["r", 0, /`r` is wrong/],
    ["r", 5, /does not fit.*\[4,16\] instead of \[5,16\]/],
  ])("%s %j", (key, value, message) => {
    const path = join(folder, "adapter_config.json");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), [key]: value }));
    expect(() => readAdapter(folder, config)).toThrow(CheckpointError);
    expect(() => readAdapter(folder, config)).toThrow(message);
  });

  test("an adapter of another model", () => {
    const other = readHfConfig(join(golden, "qwen3"));
    expect(() => readAdapter(folder, other)).toThrow(/does not fit the base model.*of another shape/);
  });

  test("one layer alone, or a projection of ours unknown", () => {
    const path = join(folder, "adapter_model.safetensors");
    const all = readSafetensors(path);
    writeSafetensors(
      path,
      Object.fromEntries(Object.entries(all).filter(([name]) => name.includes("layers.0"))),
    );
    expect(() => readAdapter(folder, config)).toThrow(/14 missing/);
    const head = { shape: [4, 16], dtype: "float32", data: new Float32Array(64) } as const;
    writeSafetensors(path, { ...all, "base_model.model.lm_head.lora_A.weight": head });
    expect(() => readAdapter(folder, config)).toThrow(/1 unexpected \(base_model.model.lm_head/);
  });

  test("no adapter at all, and one without weights", () => {
    rmSync(join(folder, "adapter_model.safetensors"));
    expect(() => readAdapter(folder, config)).toThrow(/weights are missing.*safe_serialization/);
    expect(() => readAdapter(join(folder, "nowhere"), config)).toThrow(/adapter_config.json/);
  });
});
