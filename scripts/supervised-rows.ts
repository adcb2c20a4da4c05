import type { Wording } from "../rollout/conversation.ts";
import { conversationOf } from "../rollout/conversation.ts";
import type { EpisodeReader } from "../rollout/stored-episode.ts";
import type { Segment, Sequence, Trajectory } from "../rollout/trajectory.ts";
import { type ChatForm, chatRow } from "../track/export/sft.ts";
import { rendersTo, teaches } from "./export-run.ts";
import { roleOfSeat } from "./team-adapters.ts";

type Row = Readonly<Record<string, unknown>>;

export interface SupervisedRowOptions {
  readonly wording: Wording;
  readonly reader: EpisodeReader;
  readonly form: ChatForm;
  readonly ids: boolean;
  /** Sequences of these roles alone. */
  readonly role?: readonly string[] | undefined;
  /** What the format of the rows is called, and where they are from. */
  readonly provenance: Row;
}

/** An episode that no policy sampled as chat rows, one a sequence. It has no log-probabilities, and so neither have they. */
export function supervisedRows(
  { task, sequences, outcome, ending }: Trajectory,
  o: SupervisedRowOptions,
): Row[] {
  const { wording, reader, form, ids, role, provenance } = o;
  return sequences.flatMap((said, i) => {
    if (role && !role.includes(roleOfSeat(said.seat))) return [];
    const sequence = inOurTokens(said, task.question, wording);
    const keep = { toolCalls: false, trainInvalid: false };
    const conversation = conversationOf(task.question, sequence, wording, keep);
    if (!conversation || !teaches(conversation)) return [];
    const exact = rendersTo(conversation, task.question, reader);
    const row = chatRow(
      { conversation, form, ids, exact },
      {
        ...provenance,
        ...{ seat: said.seat, ...(wording.words && { role: roleOfSeat(said.seat) }), sequence: i },
        ...{ question_id: task.id, question: task.question, golden_answers: task.goldenAnswers },
        ...{ outcome, prediction: ending?.team?.answer ?? null, tokenizer: wording.tokenizer.fingerprint },
      },
    );
    return [row];
  });
}

/**
 * What a model behind a chat API said, as our policy would have been shown and have said it. @throws DataError for words
 * that our vocabulary lacks
 */
function inOurTokens(sequence: Sequence, question: string, wording: Wording): Sequence {
  if (sequence.segments.some(({ tokens }) => tokens.length > 0)) return sequence;
  const { tokenizer, renderer, words } = wording;
  let last: number | undefined;
  const segments = sequence.segments.map((segment): Segment => {
    const { source, text, finish } = segment;
    const tokens =
      source === "prompt"
        ? renderer.prompt(question, words?.[sequence.seat])
        : tokenizer.encode(source === "policy" ? text : renderer.observation(text));
    if (source === "policy" && finish === "eos") tokens.push(...tokenizer.eosIds.slice(0, 1));
    // A chat frame closes the assistant's turn, which has closed itself.
    else if (source !== "policy" && tokens[0] === last && tokenizer.eosIds.includes(last ?? -1))
      tokens.shift();
    last = tokens.at(-1);
    return { ...segment, tokens, text: source === "policy" ? text : tokenizer.decode(tokens) };
  });
  return { seat: sequence.seat, segments };
}
