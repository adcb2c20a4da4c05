import { envConfig } from "../config.ts";
import type { Observation, Seat } from "../environment.ts";
import type { Hit, Retriever } from "../search/retriever.ts";
import { type TeamConfig, teamConfig } from "./config.ts";
import { seatsOf, team } from "./team.ts";

/** Words are tokens here. */
export const countTokens = (text: string): number => text.split(/\s+/u).filter((word) => word !== "").length;

const whole = (text: string | Observation) =>
  typeof text === "string" ? text : text.open + text.body + text.close;

/** A seat that says its lines one after the other, and remembers what it was shown. */
export interface ScriptedSeat extends Seat {
  /** Everything shown, a conversation each. */
  readonly shown: string[][];
  readonly said: string[];
}

/** @param lines an empty text for a context that is full; when all are said, it says nothing of the protocol */
export function scriptedSeat(lines: readonly string[]): ScriptedSeat {
  const waiting = [...lines];
  const shown: string[][] = [[]];
  const said: string[] = [];
  const observe = async (text: string | Observation) => {
    shown.at(-1)!.push(whole(text));
    return { tokens: countTokens(whole(text)), cut: 0 };
  };
  return {
    shown,
    said,
    observe,
    restart(text) {
      shown.push([]);
      return observe(text);
    },
    async act() {
      const text = waiting.shift() ?? "nothing to say";
      said.push(text);
      if (text === "") return { text, finish: "context", tokens: 0 };
      return { text, finish: text.endsWith("</search>") ? "stop" : "eos", tokens: countTokens(text) };
    },
  };
}

/** Finds one page, whatever is asked. */
export const onePage: Retriever = {
  version: "toy",
  size: 1,
  search: async (queries) =>
    queries.map((query): Hit[] => [{ id: "p1", title: "page", text: `about ${query}`, score: 1 }]),
  async close() {},
};

/** Plays one episode of a team whose roles say these lines. */
export async function playTeam(
  lines: Readonly<Record<string, readonly string[]>>,
  section: Parameters<typeof teamConfig.parse>[0] = {},
  retriever: Retriever = onePage,
) {
  const parsed: TeamConfig = teamConfig.parse(section);
  const config = envConfig.parse({ name: "team", team: parsed });
  const seats = Object.fromEntries(seatsOf(parsed).map((seat) => [seat, scriptedSeat(lines[seat] ?? [])]));
  const environment = team({
    ...{ retriever, config, seed: 1, countTokens },
    normalize: (answer) => answer.trim().toLowerCase(),
  });
  const question = { id: "q1", question: "who is the mayor of kano ?" };
  const ending = await environment.play(question, seats, new AbortController().signal);
  return { ending, team: ending.team!, seats, environment };
}

export const path = (steps: string, constraints = "mayor"): string =>
  `<path> ${steps} </path> <constraints> ${constraints} </constraints>`;
export const proposed = (steps: string, constraints?: string): string =>
  `<propose> ${path(steps, constraints)} </propose>`;
export const revised = (steps: string, constraints?: string): string =>
  `<revise> ${path(steps, constraints)} </revise>`;
export const conditions = (facts: string): string =>
  `<propose> <conditions> ${facts} </conditions> </propose>`;
export const drafted = (answer: string, steps = "mayor lida"): string =>
  `<propose> <steps> ${steps} </steps> <answer> ${answer} </answer> </propose>`;
export const passed =
  "<verify> <forward> mayor </forward> <backward> lida mayor kano </backward> <verdict> pass </verdict> </verify>";
export const failed = (step = "mayor"): string =>
  `<verify> <forward> f </forward> <backward> b </backward> <verdict> fail </verdict> <step> ${step} </step> </verify>`;
export const confirmed = (answer: string): string => `<confirm> <answer> ${answer} </answer> </confirm>`;
