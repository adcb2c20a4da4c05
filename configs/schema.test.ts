import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../core/package-root.ts";
import { allPaths, branches, type JsonSchema, jsonSchemaOf } from "./json-schema.ts";
import { check } from "./load.ts";
import { loadConfig } from "./load-config.ts";
import { printConfig } from "./print.ts";
import { readYaml } from "./read-yaml.ts";
import { configSchema } from "./schema.ts";
import { schemaText } from "./schema-text.ts";

const root = packageRoot();
const configs = join(root, "configs");
const yamlFiles = readdirSync(configs, { recursive: true, encoding: "utf8" })
  // A benchmark is a part of a config and an ablation a plan over one; tests of their own load those.
  .filter((name) => name.endsWith(".yaml") && !/^(benchmarks|ablations)\//.test(name))
  .sort();
const tree = (text: string) =>
  readYaml(
    text,
    (line) => ({ kind: "file", file: join(configs, "t.yaml"), line }),
    (line) => `t.yaml:${line}`,
  );
const parse = (text: string) => check(tree(text), configSchema).config;

test("configs/schema.json is what `npm run schema` writes", () => {
  expect(readFileSync(join(configs, "schema.json"), "utf8")).toBe(schemaText());
});

describe("every shipped YAML loads, and what it resolves to prints and loads back", () => {
  test.each(yamlFiles)("%s", (name) => {
    // A base says nothing of the model; a file that extends it does.
    const base = name.startsWith("base/") ? ["model={tiny: {contextTokens: 4096}}"] : [];
    const { config } = loadConfig(join(configs, name), base);
    expect(parse(printConfig(config))).toEqual(config);
  });
});

test("every shipped benchmark can be named in its place", () => {
  const files = readdirSync(join(configs, "benchmarks")).map((name) => `forager:benchmarks/${name}`);
  const { config } = loadConfig(join(configs, "tiny.yaml"), [`eval.benchmarks=[${files.join(", ")}]`]);
  expect(config.eval.benchmarks.map(({ name }) => `forager:benchmarks/${name}.yaml`)).toEqual(files);
  expect(parse(printConfig(config))).toEqual(config);
});

test("every key says what it is for", () => {
  const silent = (schema: JsonSchema, path: string): string[] =>
    branches(schema, undefined).flatMap((branch) =>
      Object.entries(branch.properties ?? {}).flatMap(([key, below]) => {
        const here = `${path}.${key}`;
        const said = typeof below.description === "string" || (key === "kind" && below.const !== undefined);
        return [...(said ? [] : [here]), ...silent(below, here)];
      }),
    );
  expect(silent(jsonSchemaOf(configSchema), "")).toEqual([]);
});

test("one spelling: every key is camelCase, and numbers of time and size carry their unit", () => {
  const paths = allPaths(jsonSchemaOf(configSchema));
  expect(paths.length).toBeGreaterThan(60);
  for (const path of paths)
    for (const key of path) expect(key, path.join(".")).toMatch(/^([a-z][A-Za-z0-9]*|\d+)$/);
  for (const path of paths) expect(path.at(-1)).not.toMatch(/^(timeout|delay|interval|memory)$/);
});

describe("what must hold between sections", () => {
  const tiny = "model: {tiny: {contextTokens: 600}}\n";
  const lora = "model: {path: m, training: lora}\nendpoint: {servers: ['http://h:1']}\n";
  const jsonl = "data: {train: {kind: jsonl, path: q.jsonl}}\n";
  const oneBenchmark = "eval: {benchmarks: [{name: b, source: {kind: world}}]}\n";
  test("the least config is a model", () => {
    expect(parse(tiny).rl.preset).toBe("dmi");
    expect(() => parse("run: {name: a}")).toThrow(/t\.yaml:1: `model` is missing/);
  });

  test.each([
    [tiny + jsonl, /need something to search/],
    [`${tiny}search: {corpus: c.jsonl}`, /the synthetic world brings its own pages/],
    ["model: {tiny: {contextTokens: 256}}", /one observation of 500 tokens fills the whole context of 256/],
    [`model: {path: m}\nrollout: {prompt: {system: Be brief.}}\n`, /never mentions <search> and <answer>/],
    [
      `${tiny}rl: {overlong: penalty}\nreward: {weights: {exactMatch: 1, length: 0.5}}`,
      /punished twice.*`length`.*set rl\.overlong to score, or take `length` out/,
    ],
    [
      `${tiny}rl: {overlong: penalty}\nreward: {weights: {length: {from: 0, to: 1, steps: 9}}}`,
      /t\.yaml:2.*punished twice/,
    ],
    [
      `${tiny}env: {name: agent, command: [a]}\nrl: {turnCredit: 0.5}`,
      /t\.yaml:3.*not recorded.*cannot be credited: set it to 0.*got 0\.5/,
    ],
    [`${tiny}rl: {turnCredit: 0.5, preset: rejection-sampling}`, /`advantage: correct` imitates/],
    [`${tiny}rl: {interventions: {processWeight: {}}}`, /t\.yaml:2.*name a benchmark/],
    [
      `${tiny}${oneBenchmark}rl: {interventions: {processWeight: {}}}`,
      /no part of the reward is process or teamProcess: name some of exactMatch, answerTag in act\.parts/,
    ],
    [`${tiny}rl: {interventions: {freezeRoles: {}}}`, /a researcher is alone/],
    [
      `${lora}rl: {preset: o-researcher, maxStaleness: 3}`,
      /t\.yaml:3.*last two updates.*set it to 2 or less/,
    ],
    [`${lora}env: {name: team}\nrl: {maxStaleness: 3}`, /last two updates/],
    [
      `${tiny}env: {name: team}\nrl: {interventions: {freezeRoles: {cooldownSteps: 2}}}`,
      /at least act\.steps: roles are not frozen anew/,
    ],
  ])("%j", (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  test("and their opposites pass", () => {
    parse(`${tiny}${jsonl}search: {corpus: c.jsonl}`);
    parse(`${tiny}${jsonl}search: {engine: lancedb, index: i}`);
    parse("model: {path: m}\nrollout: {prompt: {format: plain, system: ''}}");
    parse("model: {tiny: {contextTokens: 256}}\nenv: {observationTokens: 80}");
    parse(`${tiny}rl: {overlong: penalty}\nreward: {weights: {exactMatch: 1, length: 0}, keep: [length]}`);
    parse(`${tiny}rl: {overlong: mask}\nreward: {weights: {exactMatch: 1, length: 0.5}}`);
    parse(`${tiny}rl: {turnCredit: 0.5}`);
    parse(`${tiny}rl: {interventions: {stableRestart: {}}}`);
    parse(`${tiny}env: {name: team}\nrl: {interventions: {freezeRoles: {}}}`);
    parse(`${lora}rl: {preset: o-researcher, maxStaleness: 2}`);
    parse(`${lora}rl: {maxStaleness: 3}`);
    const rule = "rl: {interventions: {processWeight: {act: {weightFactor: 1}}}}";
    parse(`${tiny}${oneBenchmark}${rule}`);
    parse(`${tiny}${oneBenchmark}reward: {preset: o-researcher}\nrl: {interventions: {processWeight: {}}}`);
  });
});
