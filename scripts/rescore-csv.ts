import { csvField } from "../core/csv.ts";
import { lineFile } from "../core/line-file.ts";
import type { LabGroup } from "../reward/lab-group.ts";

export interface CsvWriter {
  add(group: LabGroup): void;
  finish(): void;
  /** Leaves nothing. */
  abort(): void;
}

const head = [
  ...["step", "group", "member", "task_id", "question", "prediction_before", "prediction_after"],
  ...[
    "verdict_before",
    "verdict_after",
    "reward_before",
    "reward_after",
    "advantage_before",
    "advantage_after",
  ],
];

/**
 * A row an episode (RFC 4180, UTF-8), under a temporary name until `finish`. What there is not is empty: the advantage of
 * an episode whose group is not learned from, a part that one of the rewards lacks.
 * @param parts names of the parts to write, each before and after
 */
export function csvWriter(path: string, parts: readonly string[]): CsvWriter {
  const { write: writeLine, finish, abort } = lineFile(path);
  const write = (cells: readonly (string | number | null | undefined)[]) =>
    writeLine(`${cells.map((cell) => csvField(cell ?? undefined)).join(",")}\r\n`);
  write([...head, ...parts.flatMap((name) => [`${name}_before`, `${name}_after`])]);
  return {
    add({ step, group, taskId, question, members, lessons }) {
      members.forEach(({ member, before, after }, i) => {
        write([
          ...[step, group, member, taskId, question, before.prediction, after.prediction],
          ...[lessons?.before.verdict, lessons?.after.verdict, before.reward, after.reward],
          ...[lessons?.before.advantages?.[i], lessons?.after.advantages?.[i]],
          ...parts.flatMap((name) => [before.parts[name], after.parts[name]]),
        ]);
      });
    },
    finish,
    abort,
  };
}
