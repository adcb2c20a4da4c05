import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SamplerError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import type { Engine } from "../../engine/engine.ts";
import { openEngine } from "../../engine/open.ts";
import { rowSums, sampleBlocks } from "./row-sums.ts";
import { sampleToken } from "./sample-token.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ threads: 1 });
});
afterAll(() => engine.dispose());

const params = { temperature: 1, topP: 1, topK: 0 };

function randomLogits(rows: number, size: number, spread: number): Float32Array {
  const draw = rng(rows, "logits", size, spread);
  return Float32Array.from({ length: rows * size }, () => spread * (draw() + draw() - 1));
}

describe("drawing by blocks", () => {
  test.each([
    [4096, 12],
    [5000, 3],
    [4352, 200],
  ])("of %i tokens gives the tokens and log-probabilities of the whole row", async (size, spread) => {
    const rows = 3;
    const data = randomLogits(rows, size, spread);
    const known = await rowSums(engine, size)({ shape: [rows, size], dtype: "float32", data });
    if (!known) throw new Error("a large vocabulary has sums");
    const draw = rng(7, "uniforms");
    const seen = new Set<number>();
    for (let i = 0; i < 300; i++) {
      const row = i % rows;
      const line = { logits: data, offset: row * size, size };
      const uniform = i < rows ? 0 : i < 2 * rows ? 1 - 2 ** -32 : draw();
      const truth = sampleToken(line, params, uniform);
      const got = sampleBlocks(line, known, { row, greedy: false, uniform });
      expect(got.token).toBe(truth.token);
      expect(Math.abs(got.logprob - truth.logprob)).toBeLessThan(2e-6);
      seen.add(got.token);
      const best = sampleBlocks(line, known, { row, greedy: true, uniform });
      expect(best.token).toBe(sampleToken(line, { ...params, temperature: 0 }, uniform).token);
    }
    expect(seen.size).toBeGreaterThan(spread > 100 ? 3 : 50);
  });

  test("small vocabularies need none; logits that are not numbers are an error", async () => {
    expect(
      await rowSums(engine, 100)({ shape: [1, 100], dtype: "float32", data: new Float32Array(100) }),
    ).toBeUndefined();
    const data = randomLogits(1, 4096, 3);
    data[77] = Number.NaN;
    const known = await rowSums(engine, 4096)({ shape: [1, 4096], dtype: "float32", data });
    const line = { logits: data, offset: 0, size: 4096 };
    const draw = () => sampleBlocks(line, known as never, { row: 0, greedy: false, uniform: 0.5 });
    expect(draw).toThrow(SamplerError);
  });
});
