type PerTurn = readonly (readonly number[])[];

/** What a store holds of an episode's turns, [sequences][policy segments]; absent where turns are not credited. */
export interface StoredTurns {
  /** What each was worth. */
  readonly turnCredits?: PerTurn;
  /** The advantage of each. */
  readonly turnAdvantages?: PerTurn;
}

/** Their cells, as JSON; a store of an earlier version has no such columns. */
export interface TurnColumns {
  turn_credits?: string | null;
  turn_advantages?: string | null;
}

/** In the order of the columns. */
export const turnCells = (
  ...values: readonly [PerTurn | undefined, PerTurn | undefined]
): (string | null)[] => values.map((value) => (value ? JSON.stringify(value) : null));

export const turnsOf = ({ turn_credits, turn_advantages }: TurnColumns): StoredTurns => ({
  ...(turn_credits == null ? {} : { turnCredits: JSON.parse(turn_credits) as number[][] }),
  ...(turn_advantages == null ? {} : { turnAdvantages: JSON.parse(turn_advantages) as number[][] }),
});
