import { CheckpointError } from "../../core/errors.ts";

type Shapes = ReadonlyMap<string, readonly number[]>;

/** Throws a CheckpointError that names weights missing, unexpected or of another shape, at most three of each. */
export function checkShapes(o: {
  readonly expected: Shapes;
  readonly got: Shapes;
  readonly where: string;
  readonly what: string;
  readonly next: string;
}): void {
  const missing = [...o.expected.keys()].filter((name) => !o.got.has(name));
  const extra = [...o.got.keys()].filter((name) => !o.expected.has(name));
  const other = [...o.expected].flatMap(([name, shape]) => {
    const got = o.got.get(name);
    return got && !sameShape(got, shape) ? [`${name} [${got}] instead of [${shape}]`] : [];
  });
  const facts = [list("missing", missing), list("unexpected", extra), list("of another shape", other)];
  const got = facts.filter(Boolean).join("; ");
  if (got === "") return;
  throw new CheckpointError({ what: o.what, where: o.where, got, next: o.next });
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((n, i) => n === b[i]);
}

function list(what: string, names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > 3 ? " ..." : "";
  return `${names.length} ${what} (${names.slice(0, 3).join(", ")}${more})`;
}
