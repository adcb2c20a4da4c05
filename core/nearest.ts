/** The name closest to `name`, or undefined when none is close: for "did you mean" in errors. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  const plain = squash(name);
  let best: string | undefined;
  let least = Math.max(2, Math.floor(plain.length / 3)) + 1;
  for (const candidate of names) {
    const edits = distance(plain, squash(candidate));
    if (edits < least) [best, least] = [candidate, edits];
  }
  return least < plain.length ? best : undefined;
}

/** snake_case, kebab-case and camelCase of one name are the same name here. */
const squash = (name: string) => name.replace(/[_-]/g, "").toLowerCase();

/** Edits (insert, delete, replace, swap of neighbours) between two strings: optimal string alignment. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replace, last[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, beforeLast[j - 2]! + 1);
      row.push(least);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
