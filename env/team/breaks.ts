import type { Finish } from "../environment.ts";
import { readTurn } from "../turn.ts";
import { readMessage } from "./message.ts";
import type { RoleName } from "./roles.ts";
import { compressorSeat } from "./team.ts";

/**
 * Is a turn of a team's seat neither a search that was answered nor a message of its role? (Whether the message's
 * intent was legal just then is not asked: the text alone does not tell.)
 */
export function breaksProtocol(
  seat: string,
  { text, finish = "eos" }: { readonly text: string; readonly finish?: Finish },
  answered: boolean,
): boolean {
  const searched = finish === "stop" && readTurn({ text, finish, tokens: 0 }).kind === "search";
  if (searched && answered) return false;
  const role = seat === compressorSeat ? "analyst" : (seat as RoleName);
  return "violation" in readMessage("", role, text);
}
