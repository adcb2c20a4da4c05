import { expect, test } from "vitest";
import { z } from "zod";
import { loraOf, modelSchema, tinyModel, tinySchema, trainingOf } from "./config.ts";
import { parameterCount } from "./model-config.ts";

const vocabulary = { size: 130, eosIds: [2], padId: 0 };

test("the default tiny model is the quickstart's half million parameters", () => {
  const config = tinyModel(tinySchema.parse({}), vocabulary);
  expect(config).toMatchObject({ layers: 3, hiddenSize: 128, heads: 4, kvHeads: 4, headDim: 32 });
  expect(parameterCount(config)).toBe(509_056);
});

test("a loaded model trains by LoRA unless told otherwise, a tiny one whole", () => {
  const loaded = modelSchema.parse({ path: "models/smollm2" });
  expect(trainingOf(loaded)).toBe("lora");
  expect(loraOf(loaded)).toMatchObject({ rank: 64, alpha: 128, rsLora: false });
  expect(loraOf(loaded)?.targetModules).toHaveLength(7);
  const tiny = modelSchema.parse({ tiny: {} });
  expect(trainingOf(tiny)).toBe("full");
  expect(loraOf(tiny)).toBeUndefined();
  expect(trainingOf(modelSchema.parse({ path: "m", training: "full" }))).toBe("full");
});

test.each([
  [{}, /exactly one of `path` and `tiny`/],
  [{ path: "m", tiny: {} }, /exactly one of/],
  [{ tiny: {}, adapter: "a" }, /needs `training: lora`/],
  [{ tiny: {}, lora: {} }, /need `training: lora`/],
  [{ path: "m", adapter: "a", lora: { rank: 4 } }, /adapter's own settings/],
  [{ tiny: { hidden: 130 } }, /even whole number/],
  [{ tiny: { heads: 4, kvHeads: 3 } }, /divisor of heads/],
  [{ path: "m", lora: { targetModules: ["q_proj", "q_proj"] } }, /named twice/],
  [{ path: "m", lora: { targetModules: [] } }, /targetModules/],
  [{ path: "m", lora: { rank: 0 } }, /rank/],
  [{ path: "m", rnak: 4 }, /rnak/],
])("refuses %j", (section, message) => {
  const result = modelSchema.safeParse(section);
  expect(result.success).toBe(false);
  expect(JSON.stringify(result.error?.issues)).toMatch(message);
});

test("every key is described, for the JSON schema", () => {
  const schema = z.toJSONSchema(modelSchema, { io: "input" }) as {
    properties: Record<string, { description?: string }>;
  };
  for (const [key, value] of Object.entries(schema.properties)) expect(value.description, key).toBeTruthy();
});
