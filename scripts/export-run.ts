import { DataError } from "../core/errors.ts";
import { arrowWriter } from "../datasets/episodes/arrow.ts";
import { parquetWriter } from "../datasets/episodes/parquet.ts";
import type { TokenRow } from "../datasets/episodes/token-row.ts";
import { type Conversation, type ConversationOptions, conversationOf } from "../rollout/conversation.ts";
import { type EpisodeReader, segmentsOf } from "../rollout/stored-episode.ts";
import { temperatureAt } from "../rollout/temperature.ts";
import { dpoRow, type PairOptions, pairsOf, type Side } from "../track/export/dpo.ts";
import { type Counts, type Filters, type Selection, select } from "../track/export/filters.ts";
import { jsonlWriter } from "../track/export/jsonl.ts";
import { tokenRows } from "../track/export/rows.ts";
import { type ChatForm, sftRow } from "../track/export/sft.ts";
import type { Candidate, EpisodeStore } from "../track/export/store.ts";
import type { FinishedRun } from "./finished-run.ts";
import type { Output } from "./output.ts";
import { hasTeam } from "./team.ts";
import { roleOfSeat } from "./team-adapters.ts";

export interface ExportOptions {
  readonly filters: Filters;
  readonly out: string;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly output: Output;
}

/** What an export did, or with `dryRun` would do. */
export interface Written {
  readonly out: string;
  readonly rows: number;
  /** Episodes that the rows are made of. */
  readonly episodes: number;
  readonly seen: number;
  /** Episodes left out, by the first reason that holds. */
  readonly leftOut: Counts;
  readonly partial: boolean;
  /** Rows whose text renders to their ids exactly; the others need the ids. */
  readonly exact?: number;
  readonly notes: readonly string[];
}

/** One row a sequence that has a turn of the policy's own. */
export async function exportSft(
  run: FinishedRun,
  store: EpisodeStore,
  o: ExportOptions &
    ConversationOptions & {
      readonly format: ChatForm;
      readonly ids: boolean;
      /** Sequences of these roles alone. */
      readonly role?: readonly string[] | undefined;
    },
): Promise<Written> {
  const selection = chosenOf(run, store, o.filters);
  const writer = o.dryRun ? undefined : jsonlWriter(o.out);
  const bar = o.output.progress("exporting", selection.chosen.length);
  const team = hasTeam(run.config);
  let [rows, exact, right] = [0, 0, 0];
  try {
    for (const { row } of selection.chosen) {
      o.signal.throwIfAborted();
      const episode = store.episode(row);
      episode.sequences.forEach((sequence, i) => {
        const role = team ? roleOfSeat(sequence.seat) : undefined;
        if (sequence.outside || (o.role && !o.role.includes(role ?? sequence.seat))) return;
        const conversation = conversationOf(episode.question, sequence, run.wording, o);
        if (!conversation || !teaches(conversation)) return;
        const same = rendersTo(conversation, episode.question, run.reader);
        const ids = o.ids && conversation.tokens.length > 0;
        writer?.write(
          sftRow(episode, i, { conversation, origin: run.origin, role, form: o.format, ids, exact: same }),
        );
        rows++;
        if (same) exact++;
        if (episode.parts.exactMatch === 1) right++;
      });
      bar.tick();
    }
    if (rows === 0 && writer) throw nothing(run, selection);
    writer?.finish();
  } catch (error) {
    writer?.abort();
    throw error;
  } finally {
    bar.done();
  }
  const wrong = rows - right;
  const notes = [
    ...(o.filters.minReward === undefined && wrong > 0
      ? [`${wrong} of ${rows} rows are of episodes without the right answer: --min-reward leaves them out`]
      : []),
    ...(exact < rows && !o.ids && !o.toolCalls
      ? [
          `the text of ${rows - exact} of ${rows} rows renders to other ids than were sampled: leave --no-ids out`,
        ]
      : []),
  ];
  return { ...told(run, o, selection, rows), exact, notes };
}

/** One row a pair. */
export async function exportPairs(
  run: FinishedRun,
  store: EpisodeStore,
  o: ExportOptions & ConversationOptions & PairLimits & { readonly ids: boolean },
): Promise<Written> {
  // Rewards and the limit per question are of pairs here, not of episodes.
  const { minReward, maxReward, perQuestion, ...filters } = o.filters;
  const selection = chosenOf(run, store, filters);
  const limits: PairOptions = {
    margin: o.margin,
    perGroup: o.pairsPerGroup,
    minReward,
    maxReward,
    perQuestion,
  };
  const { pairs, groups, withoutPair } = pairsOf(selection.chosen, limits);
  const writer = o.dryRun ? undefined : jsonlWriter(o.out);
  const side = ({ row }: Candidate): Side | undefined => {
    const episode = store.episode(row);
    // A preference is between two answers to one prompt: episodes of several conversations have none.
    if (episode.sequences.length !== 1) return undefined;
    const conversation = conversationOf(episode.question, episode.sequences[0]!, run.wording, o);
    return conversation && { episode, conversation };
  };
  let [rows, unequal] = [0, 0];
  try {
    for (const pair of pairs) {
      o.signal.throwIfAborted();
      const [chosen, rejected] = [side(pair.chosen), side(pair.rejected)];
      if (chosen?.conversation.tokens.length === 0) throw noTokens(run);
      const row = chosen && rejected && dpoRow(chosen, rejected, { origin: run.origin, ids: o.ids });
      if (!row) unequal++;
      else {
        writer?.write(row);
        rows++;
      }
    }
    if (rows === 0 && writer) throw nothing(run, selection);
    writer?.finish();
  } catch (error) {
    writer?.abort();
    throw error;
  }
  const notes = [
    ...(withoutPair > 0 ? [`${withoutPair} of ${groups} groups hold no pair with that margin`] : []),
    ...(unequal > 0
      ? [`${unequal} pairs left out: their prompts differ, or they are of several conversations`]
      : []),
  ];
  return { ...told(run, o, selection, rows), episodes: 2 * rows, notes };
}

interface PairLimits {
  readonly margin: number;
  readonly pairsPerGroup: number;
}

const writers = { arrow: arrowWriter, parquet: parquetWriter } as const;
const rowsAtOnce = 1024;

/** One row a sequence, token by token. */
export async function exportRows(
  run: FinishedRun,
  store: EpisodeStore,
  o: ExportOptions & { readonly format: keyof typeof writers },
): Promise<Written> {
  const selection = chosenOf(run, store, o.filters);
  if (selection.chosen.length === 0 && !o.dryRun) throw nothing(run, selection);
  const { rollout, rl } = run.config;
  const credited = rl.turnCredit > 0;
  const originAt = (step: number) => ({
    ...{ ...run.origin, credited },
    temperature: temperatureAt(rollout, step - 1, rl.steps),
  });
  const writer = o.dryRun ? undefined : writers[o.format](o.out, store.partNames(), credited);
  const bar = o.output.progress("exporting", selection.chosen.length);
  let rows = 0;
  let batch: TokenRow[] = [];
  try {
    for (const { row } of selection.chosen) {
      o.signal.throwIfAborted();
      const episode = store.episode(row);
      const made = tokenRows(episode, originAt(episode.step));
      if (made.some(({ tokens }) => tokens.length === 0)) throw noTokens(run);
      rows += made.length;
      batch.push(...made);
      if (batch.length >= rowsAtOnce) {
        await writer?.write(batch);
        batch = [];
      }
      bar.tick();
    }
    if (batch.length > 0) await writer?.write(batch);
    await writer?.finish();
  } catch (error) {
    await writer?.abort();
    throw error;
  } finally {
    bar.done();
  }
  return { ...told(run, o, selection, rows), notes: [] };
}

/** Is there a turn to learn from? A role may have said nothing but what broke the protocol. */
export const teaches = ({ said }: Conversation): boolean =>
  said.some(({ role, train }) => role === "assistant" && train !== false);

/** Does the row's text alone give its ids, for a reader with the same tokenizer and prompts? */
export function rendersTo(conversation: Conversation, question: string, reader: EpisodeReader): boolean {
  const { opening, said, layout, ended, tokens, mask } = conversation;
  if (layout === undefined || tokens.length === 0) return false;
  const chat = { messages: [...opening, ...said], layout, ended };
  const again = possibly(() => segmentsOf({ id: "", question, chat }, reader));
  if (!again) return false;
  const ids = again.flatMap((segment) => segment.tokens);
  const learnt = again.flatMap(({ source, tokens: all }) => all.map(() => (source === "policy" ? 1 : 0)));
  return ids.length === tokens.length && ids.every((id, t) => id === tokens[t] && learnt[t] === mask[t]);
}

/** A small vocabulary can sample words that it cannot read back. */
function possibly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}

function chosenOf(run: FinishedRun, store: EpisodeStore, filters: Filters): Selection {
  const selection = select(store.candidates(), filters);
  if (selection.seen === 0) throw nothing(run, selection);
  return selection;
}

const told = (run: FinishedRun, o: ExportOptions, { chosen, seen, leftOut }: Selection, rows: number) => ({
  ...{ out: o.out, rows, episodes: chosen.length, seen, leftOut },
  partial: run.origin.partial,
});

function nothing({ folder }: FinishedRun, { seen, leftOut }: Selection): DataError {
  const why = Object.entries(leftOut).map(([reason, n]) => `${n} left out for ${reason}`);
  return new DataError({
    what: seen === 0 ? "the run has no episodes" : "there is nothing to export",
    where: folder,
    ...(why.length > 0 ? { got: `${seen} episodes: ${why.join(", ")}` } : {}),
    next: seen === 0 ? "Export it once its first RL step is done." : "Ask for less.",
  });
}

const noTokens = ({ folder }: FinishedRun) =>
  new DataError({
    what: "the run kept no token ids",
    where: folder,
    expected: "a run with track.keepTokens: true",
    next: "Export its text: `forager export sft`.",
  });
