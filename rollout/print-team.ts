import type { TeamAccount, TeamCall } from "../env/team/account.ts";
import type { Payload } from "../env/team/message.ts";

/** A team's episode in the order in which it was played: who wrote which message, in which round. */
export function teamLines(team: TeamAccount): string[] {
  const lines: string[] = [];
  let round = 0;
  for (const call of team.calls) {
    if (call.round !== round) lines.push(`round ${call.round}`);
    round = call.round;
    lines.push(`  ${call.role.padEnd(10)} ${wordsOf(call)}`);
  }
  for (const { round: at, of, tokensBefore, tokensAfter } of team.compressions)
    lines.push(`  round ${at}: the ${of}'s notes compressed from ${tokensBefore} to ${tokensAfter} tokens`);
  if (team.conclusionChanged) lines.push("  the summarizer changed the conclusion: the draft's stands");
  const ending = team.converged
    ? `accepted after ${counted(team.rounds, "round")}: ${team.answer}`
    : team.aborted
      ? "given up by the planner"
      : `no draft accepted in ${counted(team.rounds, "round")}`;
  return [...lines, ending];
}

function wordsOf({ intent, payload, violation, searches, clean, attempt }: TeamCall): string {
  const before = [
    ...(attempt === 2 ? ["again:"] : []),
    ...(searches > 0 ? [`${counted(searches, "search", "searches")},`] : []),
  ];
  const said = payload
    ? `${intent} ${fieldsOf(payload)}${clean ? "" : " (with text around it)"}`
    : `no message: ${violation}`;
  return [...before, said].join(" ");
}

const fieldsOf = (payload: Payload): string =>
  Object.entries(payload)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(" ; ") : value}`)
    .join(" · ");

const counted = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
