import { describe, expect, test } from "vitest";
import { metricsOf } from "./metrics.ts";
import type { EvalRecord } from "./record.ts";
import { record as toy, broken as toyBroken } from "./testing.ts";

// Data sets and hops by place, so that a split has something to split.
const spread = (place: number) => ({ dataset: place % 2 === 0 ? "even" : "odd", hops: (place % 3) + 1 });
const record = (place: number, over: Partial<EvalRecord> = {}) => toy(place, { ...spread(place), ...over });
const broken = (place: number, over: Partial<EvalRecord> = {}) =>
  toyBroken(place, { ...spread(place), ...over });
const wrong = { em: 0, f1: 0.5, coverEm: 0, reward: 0.1 };
const options = { questions: 120, samples: 1, emAt: [50, 100, 500], maxInfraShare: 0.05 };
const right = (count: number, of: number) =>
  Array.from({ length: of }, (_, i) => record(i, i < count ? {} : wrong));

describe("metricsOf", () => {
  test("EM@k is over the first k of the order, not the first k records; no value past the benchmark's end", () => {
    const { emAt, em, n } = metricsOf(right(40, 120).reverse(), options);
    expect(emAt["50"]).toMatchObject({ n: 50, em: 0.8 });
    expect(emAt["100"]).toMatchObject({ n: 100, em: 0.4 });
    expect(emAt).not.toHaveProperty("500");
    expect([em, n]).toEqual([40 / 120, 120]);
  });

  test("per hop and data set, with intervals that hold the rate", () => {
    const { byHops, byDataset } = metricsOf(right(60, 120), options);
    expect(Object.keys(byHops)).toEqual(["1", "2", "3"]);
    expect(Object.keys(byDataset)).toEqual(["even", "odd"]);
    expect(byHops["1"]).toMatchObject({ n: 40, em: 0.5 });
    expect(byHops["1"]?.low).toBeCloseTo(0.352, 3);
  });

  test("failures are in no mean; few are reported, many make the evaluation invalid", () => {
    const good = right(57, 114);
    const few = metricsOf(
      [...good, ...[114, 115, 116, 117, 118, 119].map((place) => broken(place))],
      options,
    );
    expect(few).toMatchObject({ n: 114, em: 0.5, infra: 6, infraShare: 0.05, valid: true, turns: 2 });
    expect(few.failure).toBe("infra(retriever): HTTP 500");
    expect(few.outcomes).toEqual({ answered: 114, "infra(retriever)": 6 });
    const many = metricsOf(
      [...good.slice(1), ...[113, 114, 115, 116, 117, 118, 119].map((place) => broken(place))],
      options,
    );
    expect(many).toMatchObject({ n: 113, infra: 7, valid: false });
    expect(metricsOf([broken(0)], options)).toMatchObject({
      n: 0,
      valid: false,
      low: 0,
      high: 1,
      standardError: null,
    });
  });

  test("a failed question within the first k shows in n, and its place stays", () => {
    const { emAt } = metricsOf([broken(3), ...right(120, 120).filter(({ place }) => place !== 3)], options);
    expect(emAt["50"]).toMatchObject({ n: 49, em: 1 });
  });

  test("an answer of nothing is counted, a 0", () => {
    expect(
      metricsOf(
        [
          record(0),
          record(1, { ...wrong, prediction: "" }),
          record(2, { ...wrong, prediction: null, outcome: "turn_limit" }),
        ],
        options,
      ).em,
    ).toBeCloseTo(1 / 3, 12);
  });

  test("the unit is the question: samples are averaged first, pass@k needs k valid samples", () => {
    const samples = (place: number, marks: readonly (number | null)[]) =>
      marks.map((em, sample) => (em === null ? broken(place, { sample }) : record(place, { sample, em })));
    const metrics = metricsOf(
      [...samples(0, [1, 0, 0, 0]), ...samples(1, [1, 1, 1, null]), ...samples(2, [0, 0, 0, 0])],
      {
        ...options,
        questions: 3,
        samples: 4,
        maxInfraShare: 0.1,
      },
    );
    expect(metrics).toMatchObject({ n: 3, infra: 1, valid: true });
    expect(metrics.em).toBeCloseTo((0.25 + 1 + 0) / 3, 12);
    expect(metrics.passAt["1"]).toBeCloseTo((0.25 + 1 + 0) / 3, 12);
    expect(metrics.passAt["2"]).toBeCloseTo((0.5 + 1 + 0) / 3, 12);
    // Question 1 has three valid samples: it has no pass@4.
    expect(metrics.passAt["4"]).toBeCloseTo((1 + 0) / 2, 12);
    expect(metricsOf(right(1, 3), options).passAt).toEqual({});
  });

  test("macro: data sets count the same, whatever their size", () => {
    const data = (name: string, marks: readonly number[], from: number) =>
      marks.map((em, i) => record(from + i, { em, dataset: name }));
    const records = [...data("large", [1, 1, 1, 1, 1, 0], 0), ...data("small", [0, 1], 6)];
    const { em, macroEm } = metricsOf(records, options);
    expect(em).toBeCloseTo(6 / 8, 12);
    expect(macroEm?.em).toBeCloseTo((5 / 6 + 1 / 2) / 2, 12);
    expect(macroEm?.high).toBeLessThanOrEqual(1);
    expect(metricsOf(records.slice(0, 6), options)).not.toHaveProperty("macroEm");
  });

  test("votes and k of k, beside pass@k", () => {
    const four = (place: number, ...answers: string[]) =>
      answers.map((prediction, sample) =>
        record(place, { sample, prediction, em: prediction === "g" ? 1 : 0 }),
      );
    const { atK, passAt } = metricsOf([...four(0, "g", "g", "w", "g"), ...four(1, "w", "g", "w", "v")], {
      ...options,
      questions: 2,
      samples: 4,
    });
    expect(atK?.["4"]).toEqual({ n: 2, avg: 0.5, pass: 1, all: 0, maj: 0.5 });
    expect(passAt["2"]).toBe(atK?.["2"]?.pass);
  });

  test("a judge and retrieval recall where they are known, over the questions that have them", () => {
    expect(metricsOf(right(1, 3), options)).not.toHaveProperty("judge");
    expect(metricsOf(right(1, 3), options)).not.toHaveProperty("recall");
    const { judge, recall, observationTokens } = metricsOf(
      [
        record(0, { parts: { judge: 1 }, goldPassages: 2, goldFound: 1, observationTokens: 4 }),
        record(1, { parts: { judge: 0.5 }, goldPassages: 1, goldFound: 1, observationTokens: 8 }),
        record(2, { parts: {}, observationTokens: 0 }),
      ],
      options,
    );
    expect(judge).toEqual({ n: 2, mean: 0.75 });
    expect(recall).toEqual({ n: 2, mean: 0.75, all: 0.5 });
    expect(observationTokens).toBe(4);
  });
});
