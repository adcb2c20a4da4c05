import { styleText } from "node:util";
import { teamLines } from "./print-team.ts";
import type { Segment, Source, Trajectory } from "./trajectory.ts";

export interface PrintOptions {
  /** Colours for a terminal; without them each segment carries its label alone. */
  readonly color: boolean;
  /** Longest text of one segment in characters, 0 for all of it; default 0. */
  readonly maxCharacters?: number;
}

type Style = Parameters<typeof styleText>[0];

/** One row per source: what a reader sees beside its text. */
const looks: Readonly<Record<Source, { readonly label: string; readonly style: Style }>> = {
  prompt: { label: "prompt", style: "dim" },
  policy: { label: "policy", style: "green" },
  observation: { label: "observation", style: "cyan" },
  injected: { label: "injected", style: "yellow" },
};

/** An episode for people: who wrote what, how many tokens, how it ended. */
export function renderTrajectory(trajectory: Trajectory, options: PrintOptions): string {
  const { task, member, sequences, outcome, ending, failure } = trajectory;
  const paint = (style: Style, text: string) =>
    options.color ? styleText(style, text, { validateStream: false }) : text;
  const lines = [paint("bold", `${task.id} · member ${member} · ${task.question}`)];
  for (const { seat, segments } of sequences) {
    if (sequences.length > 1) lines.push(paint("bold", `seat ${seat}`));
    for (const segment of segments) {
      const { label, style } = looks[segment.source];
      lines.push(paint("dim", `── ${label}, ${facts(segment)}`));
      lines.push(paint(style, visible(shorten(segment.text, options.maxCharacters ?? 0))));
    }
  }
  if (ending?.team)
    lines.push(
      paint("bold", "in the order played"),
      ...teamLines(ending.team).map((line) => `${/^ */.exec(line)![0]}${visible(line)}`),
    );
  const counts = ending
    ? `, ${ending.turns} turns, ${ending.searches.length} searches, ${ending.invalidActions} invalid`
    : "";
  lines.push(
    paint(
      "bold",
      `══ ${outcome}${counts}, ${trajectory.seconds.toFixed(2)} s${failure ? `: ${visible(failure)}` : ""}`,
    ),
  );
  return lines.join("\n");
}

function facts({ tokens, logprobs, version, finish }: Segment): string {
  if (!logprobs) return `${tokens.length} tokens`;
  const mean = logprobs.reduce((sum, logprob) => sum + logprob, 0) / Math.max(1, logprobs.length);
  return `${tokens.length} tokens, ended by ${finish}, mean logprob ${mean.toFixed(3)}, version ${version}`;
}

function shorten(text: string, most: number): string {
  if (most <= 0 || text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, most - half)} … ${text.length - most} more characters … ${text.slice(text.length - half)}`;
}

/** A policy may write control characters; a terminal must not obey them. */
function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the terminal.
  return text.trim().replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu, "\u00b7");
}
