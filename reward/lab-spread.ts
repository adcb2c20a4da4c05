import { counted, type Finding, type MakeWatch, show, sum } from "./lab-finding.ts";
import { isMixed, spreadOf, tolerance } from "./lab-group.ts";

/** Parts that never vary teach nothing: at all, or within any group. */
export const constantParts: MakeWatch = (counting) => {
  const seen = new Map<string, { min: number; max: number; apart: number }>();
  let [episodes, compared] = [0, 0];
  return {
    add({ marks }) {
      episodes += marks.length;
      if (marks.length > 1) compared++;
      for (const name of counting) {
        const values = marks.flatMap(({ parts }) => parts[name] ?? []);
        if (values.length === 0) continue;
        const [min, max] = [Math.min(...values), Math.max(...values)];
        const known = seen.get(name) ?? { min, max, apart: 0 };
        known.min = Math.min(known.min, min);
        known.max = Math.max(known.max, max);
        if (max - min > tolerance) known.apart++;
        seen.set(name, known);
      }
    },
    findings() {
      if (episodes < 2) return [];
      return [...seen].flatMap(([part, { min, max, apart }]): Finding[] => {
        if (max - min <= tolerance)
          return [
            {
              ...{ kind: "constantPart", part },
              text: `\`${part}\` never varies: it is ${show(min)} in all ${episodes} episodes and teaches nothing`,
            },
          ];
        return apart > 0 || compared === 0
          ? []
          : [
              {
                ...{ kind: "constantInGroups", part },
                text: `\`${part}\` never varies within a group (${compared} groups): it moves the mean reward, not the policy`,
              },
            ];
      });
    },
  };
};

/** Most of the scale of right against wrong that counts as a small difference. */
const small = 0.3;

/**
 * Groups that differ by little, without right against wrong, and yet have advantages as large: division by the group's
 * standard deviation does this (a group that differs by the 0.1 of a tag learns as loudly as right against wrong).
 */
export const amplifiedDifferences: MakeWatch = (counting) => {
  const mixed = { groups: 0, spread: 0, size: 0 };
  // By spread, to two digits, and by what varies: a few rows, however many groups.
  const others = new Map<string, { groups: number; spread: number; size: number; varying: string }>();
  return {
    add({ marks, lesson }) {
      if (!lesson?.advantages) return;
      const spread = spreadOf(marks.map(({ reward }) => reward));
      const size = Math.max(...lesson.advantages.map(Math.abs));
      if (spread <= tolerance) return;
      const varying = counting
        .filter((name) => spreadOf(marks.map(({ parts }) => parts[name] ?? 0)) > tolerance)
        .join(", ");
      const key = `${spread.toPrecision(2)} ${varying}`;
      const sums = isMixed(marks) ? mixed : (others.get(key) ?? { groups: 0, spread: 0, size: 0, varying });
      if (sums !== mixed) others.set(key, sums as typeof sums & { varying: string });
      sums.groups++;
      sums.spread += spread;
      sums.size += size;
    },
    findings() {
      const rows = [...others.values()];
      const known = mixed.groups > 0;
      const scale = known ? mixed.spread / mixed.groups : 0;
      const faint = rows.filter(({ groups, spread, size }) =>
        // Centred advantages are never larger than the spread, and z-scores of eight at most 2.5 of it at full scale.
        known ? spread / groups <= small * scale : size / spread >= 3,
      );
      const groups = sum(faint.map((row) => row.groups));
      if (groups === 0) return [];
      const size = sum(faint.map((row) => row.size)) / groups;
      const reference = mixed.size / Math.max(1, mixed.groups);
      if (known && size < reference / 2) return [];
      const apart = sum(faint.map((row) => row.spread)) / groups;
      const parts = [...new Set(faint.flatMap(({ varying }) => varying.split(", ")))].filter(Boolean);
      const against = known
        ? ` as large as right against wrong (${show(size)}, ${show(reference)})`
        : ` of ${show(size)}`;
      return [
        {
          kind: "amplifiedDifference",
          text: `${counted(groups, "group")} without right against wrong ${groups === 1 ? "differs" : "differ"} by ${show(apart)}${parts.length > 0 ? ` (${parts.map((part) => `\`${part}\``).join(", ")})` : ""} and ${groups === 1 ? "has" : "have"} advantages${against}: std-normalisation amplifies it; take rl.advantage: drGrpo, or rl.filterMetric: exactMatch`,
        },
      ];
    },
  };
};

/** Share of groups without spread from which most of the sampling is for nothing. */
const most = 0.8;

/** Groups that teach nothing, because all their members earn the same. */
export const flatGroups: MakeWatch = () => {
  const count = { groups: 0, flat: 0 };
  return {
    add({ marks }) {
      if (marks.length < 2) return;
      count.groups++;
      if (spreadOf(marks.map(({ reward }) => reward)) <= tolerance) count.flat++;
    },
    findings() {
      const { groups, flat } = count;
      if (groups < 10 || flat < most * groups) return [];
      return [
        {
          kind: "flatGroups",
          text: `in ${flat} of ${groups} groups all members earn the same: there is little to learn from`,
        },
      ];
    },
  };
};
