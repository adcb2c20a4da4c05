import { counted, type MakeWatch, meanReward, show, sum, wordsOf } from "./lab-finding.ts";
import { isMixed, tolerance } from "./lab-group.ts";
import { Moments } from "./moments.ts";

/** Wrong answers that earn as much as a right one of the same question, or more. */
export const wrongOverRight: MakeWatch = () => {
  const count = { groups: 0, above: 0, level: 0 };
  return {
    add({ marks }) {
      if (!isMixed(marks)) return;
      const most = (right: boolean) =>
        Math.max(
          ...marks.flatMap(({ parts, reward }) => ((parts.exactMatch === 1) === right ? [reward] : [])),
        );
      const gap = most(false) - most(true);
      count.groups++;
      if (gap > tolerance) count.above++;
      else if (gap >= -tolerance) count.level++;
    },
    findings() {
      const { groups, above, level } = count;
      if (above + level === 0) return [];
      const alike = level === 0 ? "" : `, in ${level} as much as the best right one`;
      return [
        {
          kind: "wrongOverRight",
          text: `in ${above} of ${counted(groups, "group")} with right and wrong answers a wrong one earns more than every right one${alike}`,
        },
      ];
    },
  };
};

/** Is it better not to answer than to answer wrong? Compared in groups that hold both. */
export const unansweredEarns: MakeWatch = (counting) => {
  const count = { groups: 0, sum: 0, episodes: 0 };
  return {
    add({ marks }) {
      const silent = marks.filter(({ parts }) => parts.answerTag === 0);
      const wrong = marks.filter(({ parts }) => parts.answerTag === 1 && parts.exactMatch === 0);
      if (silent.length === 0 || wrong.length === 0) return;
      count.groups++;
      count.episodes += silent.length;
      count.sum += meanReward(silent) - meanReward(wrong);
    },
    findings() {
      const more = count.sum / Math.max(1, count.groups);
      if (more <= tolerance) return [];
      const under = counting.includes("f1") ? " (F1 is known for it)" : "";
      return [
        {
          kind: "unansweredEarns",
          text: `not answering earns ${show(more)} more than a wrong answer, in ${counted(count.groups, "group")} that hold both: the policy learns to avoid answers${under}`,
        },
      ];
    },
  };
};

/** Wrong answers that were compared, and the correlation, from which their length counts as paid for. */
const [enough, strong] = [50, 0.3];

/** Do longer, or shorter, wrong answers to one question earn more? F1 pays for words in common. */
export const lengthPays: MakeWatch = (counting) => {
  const moments = new Moments();
  return {
    add({ marks }) {
      const wrong = marks.filter(
        ({ parts, prediction }) => parts.exactMatch === 0 && (prediction ?? "") !== "",
      );
      if (wrong.length < 2) return;
      const words = wrong.map(({ prediction }) => wordsOf(prediction ?? ""));
      const [meanWords, meanPaid] = [sum(words) / words.length, meanReward(wrong)];
      wrong.forEach(({ reward }, i) => {
        moments.add((words[i] as number) - meanWords, reward - meanPaid);
      });
    },
    findings() {
      const { n, correlation } = moments;
      if (n < enough || correlation === null || Math.abs(correlation) < strong) return [];
      const which = correlation > 0 ? "longer" : "shorter";
      const why = counting.includes("f1") ? ": F1 pays for words in common, not for being right" : "";
      return [
        {
          kind: "lengthPays",
          text: `of the wrong answers to one question the ${which} earn more (correlation ${correlation.toFixed(2)} over ${n})${why}`,
        },
      ];
    },
  };
};
