import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import { type FaultRule, faultNames } from "../serve/faults.ts";
import type { Milliseconds } from "../serve/stub-model.ts";

/** "hang=0.1" strikes with a probability, "hang@3,7" the third and the seventh request. @throws ConfigError */
export function parseFault(text: string): FaultRule {
  const [, name = "", how = "", value = ""] = /^([A-Za-z0-9]+)([=@])(.+)$/.exec(text) ?? [];
  const wrong = (what: string, expected: string, next?: string) =>
    new ConfigError({ what, where: "--fault", got: text, expected, ...(next ? { next } : {}) });
  if (name === "") throw wrong("a fault needs a kind and when it strikes", "KIND=PROBABILITY or KIND@N,N");
  const fault = faultNames.find((each) => each === name);
  if (fault === undefined) {
    const close = nearest(name, faultNames);
    const next = close ? `Did you mean \`${close}\`?` : undefined;
    throw wrong("there is no such fault", `one of ${faultNames.join(", ")}`, next);
  }
  return how === "="
    ? { fault, probability: probabilityOf(value, wrong) }
    : { fault, at: countsOf(value, wrong) };
}

type Wrong = (what: string, expected: string) => ConfigError;

function probabilityOf(value: string, wrong: Wrong): number {
  const probability = Number(value);
  if (!(probability >= 0 && probability <= 1)) throw wrong("no probability", "0 to 1");
  return probability;
}

function countsOf(value: string, wrong: Wrong): number[] {
  const at = value.split(",").map(Number);
  if (!at.every((n) => Number.isInteger(n) && n > 0)) throw wrong("no number of a request", "1, 2, ...");
  return at;
}

/** "50", or "20-80" for a uniform draw. @throws ConfigError */
export function parseMilliseconds(text: string): Milliseconds {
  const [, from = "", to] = /^(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?$/.exec(text) ?? [];
  const range = { from: Number(from), to: Number(to ?? from) };
  if (from === "" || range.to < range.from)
    throw new ConfigError({
      what: "no time",
      where: "--latency-ms",
      got: text,
      expected: "milliseconds: 50, or 20-80",
    });
  return to === undefined ? range.from : range;
}
