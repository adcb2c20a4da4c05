import { styleText } from "node:util";
import type { Scored } from "../reward/scored.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import type { Output } from "./output.ts";

/** An episode that is over: scored, or one that infrastructure broke. */
export type Played = Scored | Trajectory;

export const isScored = (played: Played): played is Scored => "parts" in played;
export const isRight = (played: Played): boolean => isScored(played) && played.parts.exactMatch === 1;

/** Colours on a terminal that has them; NO_COLOR, FORCE_COLOR and TERM=dumb are obeyed. */
export function colorful({ json }: Output): boolean {
  return !json && process.stdout.isTTY === true && process.stdout.hasColors();
}

/** Gold answers, the judged answer, the reward with its parts: a line each. */
export function verdict(played: Played, color: boolean): string {
  return [`gold    ${played.task.goldenAnswers.join(" | ")}`, rewardLines(played, color)].join("\n");
}

/** The judged answer and the reward with its parts. */
export function rewardLines(played: Played, color: boolean): string {
  const paint = (style: "green" | "red" | "yellow", text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;
  if (!isScored(played)) return paint("yellow", "reward  none: the episode failed");
  const { reward, parts, prediction } = played;
  const right = isRight(played);
  const named = Object.entries(parts).map(([name, value]) => `${name} ${rounded(value)}`);
  return [
    `answer  ${prediction === undefined ? "none" : plain(prediction)}  ${paint(right ? "green" : "red", right ? "right" : "wrong")}`,
    `reward  ${rounded(reward)}  (${named.join(", ")})`,
  ].join("\n");
}

/** One episode on one line. */
export function oneLine(played: Played): string {
  const { task, member, outcome, ending } = played;
  const searches = ending?.searches.length ?? 0;
  const answer = isScored(played) && played.prediction !== undefined ? plain(played.prediction) : "none";
  return [
    !isScored(played) ? "failed" : isRight(played) ? "right " : "wrong ",
    isScored(played) ? played.reward.toFixed(3) : "  –  ",
    outcome.padEnd(10),
    `${searches} search${searches === 1 ? "  " : "es"}`,
    `${task.id}${member > 0 ? ` (${member})` : ""}`,
    plain(task.question),
    `answer ${answer}`,
    `gold ${task.goldenAnswers.join(" | ")}`,
  ].join("  ");
}

const rounded = (value: number) => String(Math.round(value * 1e4) / 1e4);
/** One line of text, without what a terminal would obey. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the terminal.
const plain = (text: string) => text.trim().replace(/[\u0000-\u001f\u007f-\u009f]+/gu, " ");
