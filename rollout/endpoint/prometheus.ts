/**
 * The values of a metric in a Prometheus text page, one for each set of labels ([] where it is not there).
 * Lines: `name{label="value",…} number [timestamp]`, comments begin with #.
 */
export function metric(page: string, name: string): number[] {
  const values: number[] = [];
  for (const line of page.split("\n")) {
    if (!line.startsWith(name)) continue;
    const rest = line.slice(name.length);
    // A longer name that begins with this one is another metric.
    if (!/^[{\s]/u.test(rest)) continue;
    const behind = rest.startsWith("{") ? rest.slice(rest.lastIndexOf("}") + 1) : rest;
    const [written] = behind.trim().split(/\s+/u);
    const value = Number(written);
    if (written !== undefined && written !== "" && Number.isFinite(value)) values.push(value);
  }
  return values;
}

export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
