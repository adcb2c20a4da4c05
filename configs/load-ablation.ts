import { createHash } from "node:crypto";
import { ConfigError } from "../core/errors.ts";
import { type AblationConfig, ablationConfig } from "../eval/ablation-config.ts";
import { type Loaded, load } from "./load.ts";
import { type Override, parsePath } from "./overrides.ts";
import { type Config, configSchema } from "./schema.ts";
import { at, type Path, plain, showOrigin, type Tree } from "./tree.ts";

/** One cell: the base config with its changes, whatever the seed. */
export interface LoadedCell {
  /** Names it in tables and folders. */
  readonly name: string;
  readonly loaded: Loaded<Config>;
}

export interface LoadedAblation {
  readonly spec: AblationConfig;
  /** The base first; no two of them the same config. */
  readonly cells: readonly [base: LoadedCell, ...others: LoadedCell[]];
  /** Cells left out because another one is the same, as `name = other`. */
  readonly same: readonly string[];
}

interface Plan {
  readonly name: string;
  /** In place of the base's config. */
  readonly config?: string | undefined;
  readonly changes: readonly Override[];
}

/**
 * Loads an ablation and the config of every cell, so that a key that no config has is an error before anything runs.
 * @param overrides `key.path=value` over the base of every cell
 * @throws ConfigError with file:line
 */
export function loadAblation(path: string, overrides: readonly string[] = []): LoadedAblation {
  const { config: spec, stated } = load(path, [], ablationConfig);
  const set = changesAt(stated, ["set"]);
  const plans: Plan[] = [
    { name: spec.base, changes: [] },
    ...gridOf(stated, spec),
    ...Object.entries(spec.cells).map(([name, { config }]) => ({
      ...{ name, config },
      changes: changesAt(stated, ["cells", name]),
    })),
  ];
  const repeated = plans.find(({ name }, i) => plans.findIndex((other) => other.name === name) < i);
  if (repeated)
    throw new ConfigError({
      what: `two cells are called \`${repeated.name}\``,
      where: path,
      next:
        repeated.name === spec.base
          ? `\`${spec.base}\` is the config without changes.`
          : "Name one of them in `cells`.",
    });
  const cells: LoadedCell[] = [];
  const same: string[] = [];
  for (const { name, changes, config = spec.config } of plans) {
    const loaded = load(config, [...set, ...overrides, ...changes], configSchema);
    const twin = cells.find((cell) => textOf(cell) === JSON.stringify(loaded.config));
    if (twin) same.push(`${name} = ${twin.name}`);
    else cells.push({ name, loaded });
  }
  const [base, ...others] = cells;
  if (base === undefined || others.length === 0)
    throw new ConfigError({
      what: "there is nothing to compare: no cell differs from the base",
      where: path,
      expected: "`grid`: { key.path: [values] }, or `cells`: { name: { key.path: value } }",
      ...(same.length > 0 ? { got: same.join(", ") } : {}),
    });
  return { spec, cells: [base, ...others], same };
}

const textOf = ({ loaded }: LoadedCell) => JSON.stringify(loaded.config);

/** Sections that may be replaced whole: what is left out of another would fall back to its default unnoticed. */
const wholeSections = ["model", "endpoint"];

/** Key of a cell that is no key of a config. */
const otherConfig = "config";

/** What a map of `key.path: value` sets, each value with the place where it is stated. */
function changesAt(stated: Tree, path: Path): Override[] {
  const node = at(stated, path);
  if (node?.kind !== "map") return [];
  return [...node.entries].flatMap(([key, value]) =>
    key === otherConfig ? [] : [{ path: pathOf(key, value), value }],
  );
}

function pathOf(key: string, value: Tree): readonly string[] {
  const path = parsePath(key);
  const where = showOrigin(value.origin);
  if (path === undefined)
    throw new ConfigError({
      what: `\`${key}\` is no key of a config`,
      where,
      expected: "key.path, such as rl.filter",
    });
  const [section, ...rest] = path;
  if (rest.length === 0 && !wholeSections.includes(key))
    throw new ConfigError({
      what: `\`${key}\` is a whole section`,
      where,
      expected: `a key of it, such as ${section === "rl" ? "rl.filter" : `${key}.…`}: what is not named stays as in the base`,
    });
  if (section === "run")
    throw new ConfigError({
      what: `\`${key}\` differs from cell to cell by itself`,
      where,
      next: "Leave it out: `name` and `seeds` of the ablation, and --out, say it.",
    });
  return path;
}

/** The cells of the grid: one key changed at a time, or every combination. */
function gridOf(stated: Tree, { grid, design }: AblationConfig): Plan[] {
  const keys = Object.keys(grid);
  const labels = labelsOf(keys);
  const axes = keys.map((key, i): Plan[] => {
    const list = at(stated, ["grid", key]);
    const values = list?.kind === "list" ? list.items : [];
    return values.map((value) => ({
      name: `${labels[i]}=${shortly(plain(value))}`,
      changes: [{ path: pathOf(key, value), value }],
    }));
  });
  if (design === "each") return axes.flat();
  return axes.length === 0
    ? []
    : axes.reduce((all, axis) =>
        all.flatMap((one) =>
          axis.map((other) => ({
            name: `${one.name}_${other.name}`,
            changes: [...one.changes, ...other.changes],
          })),
        ),
      );
}

/** The last step of each path where that tells them apart, else the whole path. */
function labelsOf(keys: readonly string[]): string[] {
  const last = (key: string) => key.split(".").at(-1) as string;
  return keys.map((key) => (keys.filter((other) => last(other) === last(key)).length > 1 ? key : last(key)));
}

/** A value as part of a folder's name; what is long or odd gets a hash, so that two values never share a name. */
function shortly(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const tidy = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "");
  if (tidy === text && text.length <= 24) return text;
  return `${tidy.slice(0, 24)}-${createHash("sha256").update(text).digest("hex").slice(0, 4)}`;
}
