import type { Passage } from "../datasets/task.ts";

interface PassageFormat {
  /** One passage; rank counts from 1 in the order shown. */
  readonly show: (passage: Passage, rank: number) => string;
  readonly join: string;
}

/** How passages stand in an observation. `searchR1` is what models trained by Search-R1 know. */
export const passageFormats = {
  plain: { show: ({ text }) => text, join: "\n" },
  searchR1: { show: ({ title, text }, rank) => `Doc ${rank}(Title: ${title}) ${text}`, join: "\n" },
} as const satisfies Record<string, PassageFormat>;

/** The body of an observation. */
export function showPassages(passages: readonly Passage[], format: keyof typeof passageFormats): string {
  const { show, join } = passageFormats[format];
  return passages.map((passage, i) => defuse(show(passage, i + 1))).join(join);
}

const dangerous = /<(?=\||\/?(?:think|search|answer|information|question|s)>)/gi;

/** A page may not speak for the harness: our tags and chat markers written in it lose their meaning by a space. */
function defuse(text: string): string {
  return text.includes("<") ? text.replace(dangerous, "< ") : text;
}
