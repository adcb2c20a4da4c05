import type { Config } from "../configs/schema.ts";
import { ConfigError } from "../core/errors.ts";
import { nearest } from "../core/nearest.ts";
import type { RetrieverName } from "../env/search/config.ts";

/** One way to answer the searches of an unchanged policy. */
export interface Condition {
  /** Names it in tables and folders. */
  readonly name: string;
  readonly config: Config;
  /** Searches answered, where they are counted out. */
  readonly budget?: number;
}

/** The reference of every difference: the engine that the config names, without a budget. */
export const referenceName = "engine";

interface Row {
  readonly describe: string;
  readonly retriever: RetrieverName;
  readonly budget?: number;
  readonly maxTurns?: number;
}

/** What `--retrievers` may name. */
export const conditionRows: Readonly<Record<string, Row>> = {
  off: {
    describe: "no search: the first turn is the last, and a search in it ends the episode",
    retriever: "engine",
    maxTurns: 1,
  },
  // No budget is the same as finding nothing, so one evaluation stands for both.
  empty: { describe: "every search finds nothing (budget 0)", retriever: "engine", budget: 0 },
  random: { describe: "every search finds passages drawn at random", retriever: "random" },
  oracle: { describe: "every search finds the question's gold passages first", retriever: "oracle" },
};

/**
 * The conditions to evaluate, the reference last.
 * @param budgets beyond 0; undefined for all that an episode has room for
 * @throws ConfigError for a name that is none
 */
export function conditionsOf(
  base: Config,
  o: { readonly retrievers: readonly string[]; readonly budgets: readonly string[] | undefined },
): Condition[] {
  const names = Object.keys(conditionRows);
  for (const name of o.retrievers)
    if (!names.includes(name)) {
      const close = nearest(name, names);
      throw new ConfigError({
        what: `there is no retriever \`${name}\` to compare with`,
        where: "--retrievers",
        expected: names.join(", "),
        ...(close ? { next: `Did you mean \`${close}\`?` } : {}),
      });
    }
  const most = mostSearches(base);
  const budgets = o.budgets?.map(budgetOf) ?? Array.from({ length: Math.min(most, 8) }, (_, i) => i);
  const withConfig = ({ retriever, budget, maxTurns }: Omit<Row, "describe">): Config => {
    const { budget: _, ...search } = base.search;
    return {
      ...base,
      search: { ...search, retriever, ...(budget === undefined ? {} : { budget }) },
      ...(maxTurns === undefined ? {} : { env: { ...base.env, maxTurns } }),
    };
  };
  const named = o.retrievers.map((name): Condition => {
    const row = conditionRows[name] as Row;
    return {
      name,
      config: withConfig(row),
      ...(row.budget === undefined ? {} : { budget: row.budget }),
    };
  });
  const counted = [...new Set(budgets)]
    .sort((a, b) => a - b)
    // A budget that is never used up is the reference itself, and none at all is `empty`.
    .filter((budget) => budget < most && !(budget === 0 && o.retrievers.includes("empty")))
    .map(
      (budget): Condition => ({
        name: `budget-${budget}`,
        config: withConfig({ retriever: "engine", budget }),
        budget,
      }),
    );
  return [...named, ...counted, { name: referenceName, config: withConfig({ retriever: "engine" }) }];
}

function budgetOf(text: string): number {
  if (/^\d+$/.test(text.trim())) return Number(text);
  throw new ConfigError({
    what: "a budget is a number of searches",
    where: "--budgets",
    got: text,
    expected: "integers of 0 or more with commas between them, such as 0,1,2",
  });
}

/** Searches that an episode has room for: one in the last turn is not run. */
export const mostSearches = ({ env }: Config): number => env.maxTurns - 1;
