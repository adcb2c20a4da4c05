import type { EvalConfig } from "./config.ts";
import type { EvalRecord } from "./record.ts";

/** What tokens cost. */
export type Prices = NonNullable<EvalConfig["prices"]>;

/** What an evaluation cost. */
export interface Cost {
  readonly currency: string;
  /** Of all episodes whose tokens are known, broken ones included: they were billed too. */
  readonly total: number;
  /** Total over the questions asked, all samples of one together. */
  readonly perQuestion: number;
  /** Of the total, what the judge cost. Absent without a price for it, or a count of its tokens. */
  readonly judge?: number;
  /** Episodes whose tokens, or whose judge's, nobody counted: the total lacks them. Absent when there are none. */
  readonly uncounted?: number;
}

type Price = Pick<Prices, "promptPerMillionTokens" | "completionPerMillionTokens">;

const priceOf = (prompt: number, completion: number, price: Price) =>
  (prompt * price.promptPerMillionTokens + completion * price.completionPerMillionTokens) / 1e6;

/** The record at these prices; without prices, or without a count of its tokens, it has no cost, and least of all zero. */
export function atPrices({ cost: _, ...record }: EvalRecord, prices: Prices | undefined): EvalRecord {
  const { promptTokens, policyTokens, judging } = record;
  if (prices === undefined || promptTokens === undefined) return record;
  const policy = priceOf(promptTokens, policyTokens, prices);
  const judge =
    prices.judge && judging && priceOf(judging.promptTokens, judging.completionTokens, prices.judge);
  const { segments, ...rest } = record;
  const complete = prices.judge === undefined || judging !== undefined || record.parts?.judge === undefined;
  return {
    ...rest,
    cost: {
      ...{ amount: policy + (judge ?? 0), currency: prices.currency },
      ...(judge === undefined ? {} : { judge }),
      ...(complete ? {} : { complete }),
    },
    segments,
  };
}

/** What these records cost together; undefined where none says, or they say it in several currencies. */
export function costOf(records: readonly EvalRecord[]): Cost | undefined {
  const costs = records.flatMap(({ cost }) => cost ?? []);
  const currencies = new Set(costs.map(({ currency }) => currency));
  const [currency] = currencies;
  if (currency === undefined || currencies.size > 1) return undefined;
  const judges = costs.flatMap(({ judge }) => judge ?? []);
  const uncounted = records.length - costs.filter(({ complete }) => complete !== false).length;
  const total = sum(costs.map(({ amount }) => amount));
  return {
    ...{ currency, total },
    perQuestion: total / new Set(records.map(({ id }) => id)).size,
    ...(judges.length === 0 ? {} : { judge: sum(judges) }),
    ...(uncounted === 0 ? {} : { uncounted }),
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** An amount with two digits that matter: "12.30", "0.0042". */
export function money(amount: number): string {
  const size = Math.abs(amount);
  const text = size === 0 ? "0" : size >= 0.995 ? size.toFixed(2) : plain(size);
  return amount < 0 ? `−${text}` : text;
}

/** Never with an exponent: people read it as money. */
const plain = (size: number) => size.toFixed(Math.min(12, 1 - Math.floor(Math.log10(size))));

/** A total that lacks something says so. */
export const moneyOf = ({ total, uncounted }: Cost): string =>
  uncounted === undefined ? money(total) : `over ${money(total)}`;
