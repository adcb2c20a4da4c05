import { expect, test } from "vitest";
import { atPrices, costOf, money, moneyOf } from "./cost.ts";
import { broken, record } from "./testing.ts";

const prices = { currency: "USD", promptPerMillionTokens: 3, completionPerMillionTokens: 15 };
const judged = { ...prices, judge: { promptPerMillionTokens: 1, completionPerMillionTokens: 2 } };
const counted = record(0, { promptTokens: 1000, policyTokens: 100 });
const asked = { parts: { judge: 1 }, judging: { promptTokens: 500, completionTokens: 50 } };

test("tokens at their prices; nothing without prices or without a count", () => {
  expect(atPrices(counted, prices).cost).toEqual({ amount: 0.0045, currency: "USD" });
  expect(atPrices(counted, undefined)).not.toHaveProperty("cost");
  expect(atPrices(record(0), prices)).not.toHaveProperty("cost");
  // What was priced before is priced anew, or no more.
  const once = atPrices(counted, prices);
  expect(atPrices(once, { ...prices, currency: "EUR" }).cost?.currency).toBe("EUR");
  expect(atPrices(once, undefined)).toEqual(counted);
});

test("the judge is part of it where it has a price; one that nobody counts is told", () => {
  const both = atPrices({ ...counted, ...asked }, judged);
  expect(both.cost).toMatchObject({ judge: 0.0006 });
  expect(both.cost?.amount).toBeCloseTo(0.0051, 12);
  expect(atPrices({ ...counted, ...asked }, prices).cost).toEqual({ amount: 0.0045, currency: "USD" });
  const silent = atPrices({ ...counted, parts: { judge: 1 } }, judged);
  expect(silent.cost).toEqual({ amount: 0.0045, currency: "USD", complete: false });
  expect(costOf([both, silent])).toMatchObject({ judge: 0.0006, uncounted: 1 });
});

test("in all, and a question: all its samples, and what broke was paid for too", () => {
  const at = (place: number, sample: number) =>
    atPrices({ ...counted, id: `q${place}`, place, sample }, prices);
  const lost = atPrices(broken(1, { sample: 1, promptTokens: 100, policyTokens: 0 }), prices);
  const cost = costOf([at(0, 0), at(0, 1), at(1, 0), lost]);
  expect(cost?.total).toBeCloseTo(3 * 0.0045 + 0.0003, 12);
  expect(cost?.perQuestion).toBeCloseTo((3 * 0.0045 + 0.0003) / 2, 12);
  expect(cost).not.toHaveProperty("uncounted");
  expect(costOf([record(0)])).toBeUndefined();
  expect(costOf([at(0, 0), record(1)])).toMatchObject({ uncounted: 1 });
  expect(costOf([at(0, 0), atPrices(counted, { ...prices, currency: "EUR" })])).toBeUndefined();
});

test.each([
  [0, "0"],
  [12.3, "12.30"],
  [1234.567, "1234.57"],
  [0.996, "1.00"],
  [0.5, "0.50"],
  [0.00418, "0.0042"],
  [0.00000051, "0.00000051"],
  [-0.02, "−0.020"],
])("%s is written %s", (amount, text) => expect(money(amount)).toBe(text));

test("a total that lacks something says so", () => {
  expect(moneyOf({ currency: "USD", total: 2, perQuestion: 1, uncounted: 3 })).toBe("over 2.00");
});
