import type { Seat } from "../../environment.ts";
import { type CountTokens, countWords, said } from "../../experts/turns.ts";
import { readEntries } from "../blackboard.ts";
import { type RoleName, roleNames } from "../roles.ts";
import { compressorSeat } from "../team.ts";
import type { Shown, TeamExpert } from "./expert.ts";

/**
 * The expert in one role's seat. It knows what the role was shown and nothing else: entries are read from what is
 * observed, as a policy would read them.
 */
export function expertSeatOf(
  expert: TeamExpert,
  seat: string,
  on: Shown["on"] = {},
  count: CountTokens = countWords,
): Seat {
  const role: RoleName = seat === compressorSeat ? "analyst" : (seat as RoleName);
  let shown: Shown = { round: 0, on };
  let waiting: string[] = [];
  let told = "";
  const observe: Seat["observe"] = async (text) => {
    const whole = typeof text === "string" ? text : text.open + text.body + text.close;
    if (waiting.length === 0) told += `${whole}\n`;
    return { tokens: count(whole), cut: 0 };
  };
  return {
    observe,
    restart: observe,
    async act() {
      if (waiting.length === 0) {
        shown = { ...shown, ...readEntries(told), round: shown.round + 1 };
        waiting = [...expert.call(role, seat === compressorSeat ? { ...shown, compress: told } : shown)];
        told = "";
      }
      return said(waiting.shift() ?? "", count);
    },
  };
}

/** The expert in every seat. */
export const expertSeats = (
  expert: TeamExpert,
  seats: readonly string[],
  count?: CountTokens,
): Record<string, Seat> => {
  const on = Object.fromEntries(roleNames.map((role) => [role, seats.includes(role)]));
  return Object.fromEntries(seats.map((seat) => [seat, expertSeatOf(expert, seat, on, count)]));
};
