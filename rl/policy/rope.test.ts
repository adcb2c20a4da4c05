import { expect, test } from "vitest";
import { type Rope, ropeFrequencies, yarnAttentionFactor } from "./rope.ts";
import { rotaryRows, rotaryTable } from "./rotary.ts";
import { toyConfig } from "./testing.ts";

/** Expected numbers: transformers 5.19, modeling_rope_utils.py, in float32. */
const rows: [Rope, number, number[], number][] = [
  [{ kind: "default", theta: 10_000 }, 8, [1, 0.1, 0.01, 0.001], 1],
  [{ kind: "linear", theta: 10_000, factor: 4 }, 8, [0.25, 0.025, 0.0025, 0.00025], 1],
  [
    {
      kind: "llama3",
      theta: 500_000,
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContextTokens: 32,
    },
    8,
    [1, 0.004700753837823868, 0.00017677668074611574, 6.647869668086059e-6],
    1,
  ],
  [
    {
      kind: "llama3",
      theta: 500_000,
      factor: 32,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalContextTokens: 8192,
    },
    16,
    [
      1, 0.193922758102417, 0.03760603070259094, 0.00729266507551074, 0.000429556705057621,
      8.570255886297673e-6, 1.6619674170215148e-6, 3.2229328894572973e-7,
    ],
    1,
  ],
  [
    {
      kind: "yarn",
      theta: 1_000_000,
      factor: 4,
      originalContextTokens: 32_768,
      betaFast: 32,
      betaSlow: 1,
      attentionFactor: yarnAttentionFactor(4),
      truncate: true,
    },
    16,
    [
      1, 0.17782793939113617, 0.03162277862429619, 0.004217559937387705, 0.0005000000237487257,
      4.4456985051510856e-5, 7.905693564680405e-6, 1.405853367941745e-6,
    ],
    1.138629436111989,
  ],
  [
    {
      kind: "yarn",
      theta: 10_000,
      factor: 16,
      originalContextTokens: 4096,
      betaFast: 16,
      betaSlow: 2,
      attentionFactor: yarnAttentionFactor(16, 0.7, 1),
      truncate: false,
    },
    16,
    [
      1, 0.3162277638912201, 0.10000000149011612, 0.03162277862429619, 0.005952023901045322,
      0.0002408111176919192, 6.25000029685907e-5, 1.9764236640185118e-5,
    ],
    0.9348779926481438,
  ],
];

test.each(rows)("frequencies equal transformers', row %#", (rope, headDim, inverse, scale) => {
  const got = ropeFrequencies(rope, headDim);
  expect(got.inverse).toHaveLength(headDim / 2);
  got.inverse.forEach((f, i) => {
    expect(Math.abs(f / (inverse[i] as number) - 1)).toBeLessThan(1e-6);
  });
  expect(got.scale).toBeCloseTo(scale, 12);
});

test("YaRN with a ramp of no width divides nothing by zero", () => {
  const yarn = { kind: "yarn", theta: 1e6, factor: 4, originalContextTokens: 32 } as const;
  const got = ropeFrequencies({ ...yarn, betaFast: 32, betaSlow: 32, attentionFactor: 1, truncate: true }, 8);
  expect(got.inverse.every(Number.isFinite)).toBe(true);
});

test("rows are looked up by position, far ones with full angles", () => {
  const config = toyConfig({ rope: { kind: "default", theta: 10_000 }, headDim: 4 });
  const { cos, sin } = rotaryRows(config, [3, 8191, 0, 3], [2, 2]);
  expect(cos.shape).toEqual([4, 2]);
  expect(Array.from(cos.data.subarray(0, 2))).toEqual(Array.from(cos.data.subarray(6, 8)));
  expect(cos.data[2]).toBe(Math.fround(Math.cos(8191)));
  expect(sin.data[3]).toBe(Math.fround(Math.sin(8191 * 0.01)));
  expect(Array.from(cos.data.subarray(4, 6))).toEqual([1, 1]);
});

test("a grown table keeps its rows", () => {
  const config = toyConfig({});
  const small = rotaryTable(config, 2).cos.slice(0, config.headDim);
  const big = rotaryTable(config, 1000).cos;
  expect(Array.from(big.subarray(0, small.length))).toEqual(Array.from(small));
});
