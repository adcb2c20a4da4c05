import { join } from "node:path";
import { ConfigError, RewardError } from "../../core/errors.ts";
import { rng } from "../../core/rng.ts";
import { type Judge, openJudge } from "../judge.ts";
import type { Scored } from "../scored.ts";
import { type AuditPrompt, type AuditQuestion, auditPrompts } from "./audit-prompt.ts";
import type { AuditConfig } from "./config.ts";
import { judgementsOf } from "./reading.ts";

/** The auditor's answer to one question about one episode. */
export interface AuditAnswer {
  readonly asks: AuditQuestion;
  /** The verdict that it is about, by its place. */
  readonly verdict?: number;
  readonly yes: boolean;
  readonly reason: string;
}

/** Why a question has no answer: the requests were used up, or every attempt at it failed. */
export interface AuditFailure {
  readonly kind: "budget" | "judge";
  readonly why: string;
}

export interface AuditedEpisode {
  readonly task: string;
  readonly member: number;
  readonly answers: readonly AuditAnswer[];
  readonly failures: readonly AuditFailure[];
}

export interface Audit {
  /** `audit/…`; shares are absent where nothing was answered. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly episodes: readonly AuditedEpisode[];
}

/** Looks at some of a team's episodes. Nothing that it finds is rewarded. */
export interface Auditor {
  /**
   * Audits the configured share of these, drawn by (seed, step, task, member). A judge that fails, or whose requests are
   * used up, costs answers and not the run. @throws the signal's reason when aborted
   */
  audit(members: readonly Scored[], step: number, signal: AbortSignal): Promise<Audit>;
  /** Keeps findings in audit.jsonl of this folder, unless the config names a file. */
  keepIn(folder: string): void;
  close(): void;
}

/** @throws ConfigError for an address that is none and a key that is not set; DataError for a broken cache file */
export function openAuditor({ share, ...config }: AuditConfig, seed: number): Auditor {
  const judge = named(() => openJudge({ ...config, marks: 1, sees: "episode" }));
  return {
    async audit(members, step, signal) {
      const drawn = members.filter(
        ({ task, member, ending }) => ending?.team && rng(seed, "audit", step, task.id, member)() < share,
      );
      const asked = drawn.map((member) => ({ member, prompts: auditPrompts(member, config) }));
      const failures = await answered(
        judge,
        asked.flatMap(({ prompts }) => prompts),
        signal,
      );
      const episodes = asked.map(({ member, prompts }) => episodeOf(member, prompts, judge, failures));
      return { metrics: metricsOf(drawn, episodes), episodes };
    },
    keepIn: (folder) => judge.keepIn(join(folder, "audit.jsonl")),
    close: () => judge.close(),
  };
}

type Failures = (key: string) => AuditFailure;

async function answered(
  judge: Judge,
  prompts: readonly AuditPrompt[],
  signal: AbortSignal,
): Promise<Failures> {
  try {
    const failures = await judge.ask(prompts, signal);
    return (key) => ({ kind: "judge", why: ours(failures.get(key) ?? "not asked") });
  } catch (error) {
    if (!(error instanceof RewardError)) throw error;
    return () => ({ kind: "budget", why: ours(error.message) });
  }
}

function episodeOf(
  { task, member }: Scored,
  prompts: readonly AuditPrompt[],
  judge: Judge,
  failureOf: Failures,
): AuditedEpisode {
  const answers: AuditAnswer[] = [];
  const failures: AuditFailure[] = [];
  for (const { key, asks, verdict } of prompts) {
    const said = judge.verdict(key);
    if (said === undefined) failures.push(failureOf(key));
    else {
      const about = verdict === undefined ? {} : { verdict };
      answers.push({ asks, ...about, yes: said.value === 1, reason: said.reason });
    }
  }
  return { task: task.id, member, answers, failures };
}

/** The name of each question's share of yes. */
const shares: Readonly<Record<AuditQuestion, string>> = {
  planComplete: "audit/plan_complete",
  draftRight: "audit/draft_right",
  verdictSound: "audit/verdict_sound",
};

/**
 * Shares of yes by question, and `audit/agreement`: of the verdicts whose draft the auditor marked without seeing them,
 * the share that passes what it finds right and fails what it does not.
 */
function metricsOf(drawn: readonly Scored[], episodes: readonly AuditedEpisode[]): Record<string, number> {
  const answers = episodes.flatMap((each) => each.answers);
  const agreed = episodes.flatMap((each, i) => {
    const verdicts = judgementsOf(drawn[i]!.ending!.team!);
    return each.answers.flatMap(({ asks, verdict, yes }) =>
      asks === "draftRight" && verdict !== undefined ? [(verdicts[verdict]?.kind === "pass") === yes] : [],
    );
  });
  const share = (name: string, each: readonly boolean[]) =>
    each.length === 0 ? {} : { [name]: each.filter(Boolean).length / each.length };
  return {
    "audit/episodes": episodes.length,
    "audit/answers": answers.length,
    "audit/failures": episodes.reduce((sum, { failures }) => sum + failures.length, 0),
    ...Object.assign(
      {},
      ...Object.entries(shares).map(([asks, name]) =>
        share(
          name,
          answers.filter((each) => each.asks === asks).map(({ yes }) => yes),
        ),
      ),
    ),
    ...share("audit/agreement", agreed),
  };
}

/** The judge's words name its own section; this one is under another. */
const ours = (text: string) => text.replaceAll("reward.judge", "reward.audit");

function named<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { where, next, ...complaint } = error.complaint;
    throw new ConfigError({
      ...complaint,
      what: complaint.what.replace("the judge's", "the auditor's"),
      ...(where !== undefined && { where: ours(where) }),
      ...(next !== undefined && { next: ours(next) }),
    });
  }
}
