import { hackNames } from "../../reward/team/hacks.ts";
import type { Measure } from "./curves.ts";
import type { FigureRow } from "./figures.ts";

const noBands = "Means over a step's episodes, without bands.";

/** Figures of a team's training, by the metrics that the run has. */
export function teamRows(names: readonly string[]): FigureRow[] {
  const after = (prefix: string): Measure[] =>
    names
      .filter((name) => name.startsWith(prefix))
      .map((metric) => ({ name: metric.slice(prefix.length), metric }));
  const row = (
    id: string,
    title: string,
    caption: string,
    measures: readonly Measure[],
    range: FigureRow["range"] = "free",
  ): FigureRow => ({
    id: `team-${id}`,
    section: "team",
    title,
    caption: `${caption} ${noBands}`,
    range,
    measures,
  });
  const named = (pairs: Readonly<Record<string, string>>): Measure[] =>
    Object.entries(pairs).map(([name, metric]) => ({ name, metric }));
  return [
    row(
      "verdicts",
      "Catches, false alarms and misses",
      "An episode: wrong drafts rejected, right drafts rejected, wrong drafts passed.",
      named({ catches: "team/catches", "false alarms": "team/false_alarms", misses: "team/misses" }),
    ),
    row(
      "verifier",
      "The verifier",
      "Of the wrong drafts that it read, the share it rejected; of the right ones, the same; of all verdicts, rejections and those that could not be read.",
      named({
        "catch rate": "team/catch_rate",
        "false alarm rate": "team/false_alarm_rate",
        rejected: "team/rejection_rate",
        unreadable: "team/unparsable_rate",
      }),
      "share",
    ),
    row(
      "drafts",
      "First draft and accepted draft",
      "Exact match of the first draft and of the accepted one, of the episodes that have one, and share of episodes with an accepted one in time.",
      named({
        "first draft": "team/first_draft_em",
        accepted: "team/accepted_em",
        "accepted in time": "team/converged",
      }),
      "share",
    ),
    row(
      "rounds",
      "Rounds and revisions",
      "Of each episode.",
      named({ rounds: "team/rounds", revisions: "team/revisions" }),
    ),
    row("tokens", "Tokens by role", "Tokens an episode, those of searches included.", after("team/tokens/")),
    row(
      "calls",
      "Calls by role",
      "Calls an episode, second tries after a violation included.",
      after("team/calls/"),
    ),
    row(
      "violations",
      "Messages that broke the protocol",
      "Share of all calls' texts an episode, by what was wrong.",
      after("team/violations/"),
    ),
    row(
      "hacks",
      "Detectors of hacks",
      "How strongly a step's episodes show each sign, in [0, 1].",
      hackNames.map((name) => ({ name, metric: `hack/${name}` })),
      "share",
    ),
  ];
}
