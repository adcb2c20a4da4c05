import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../core/files.ts";
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

type Cell = string | number | null | undefined;

/**
 * A row an episode (RFC 4180, UTF-8), under a temporary name until `finish`. What there is not is empty: the advantage of
 * an episode whose group is not learned from, a part that one of the rewards lacks.
 * @param parts names of the parts to write, each before and after
 */
export function csvWriter(path: string, parts: readonly string[]): CsvWriter {
  makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, "w");
  let waiting: string[] = [];
  let size = 0;
  const flush = () => {
    const bytes = Buffer.from(waiting.join(""));
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(file, bytes, offset);
    waiting = [];
    size = 0;
  };
  const write = (cells: readonly Cell[]) => {
    const line = `${cells.map(field).join(",")}\r\n`;
    waiting.push(line);
    size += line.length;
    if (size > 1 << 20) flush();
  };
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
    finish() {
      flush();
      fsyncSync(file);
      closeSync(file);
      renameSync(temporary, path);
    },
    abort() {
      closeSync(file);
      rmSync(temporary, { force: true });
    },
  };
}

/** Quoted where it must be; a text that a spreadsheet would take for a formula begins with an apostrophe. */
function field(value: Cell): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
