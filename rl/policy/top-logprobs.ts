import type { LogitsRow } from "./sample-token.ts";

export interface TokenLogprob {
  readonly id: number;
  readonly logprob: number;
}

/** Beyond as many, sorting the whole row is faster than inserting. */
const mostInserted = 256;

const none: readonly TokenLogprob[] = [];

/**
 * The k likeliest tokens of a row, most likely first, ties by id; ids that cannot be drawn are left out. One token's
 * known log-probability gives all the others': they differ by their logits.
 */
export function likeliest(
  row: LogitsRow,
  known: { readonly token: number; readonly logprob: number },
  k: number,
): readonly TokenLogprob[] {
  if (k <= 0) return none;
  const { logits, offset } = row;
  const base = logits[offset + known.token] as number;
  return topIds(row, k).map((id) => ({
    id,
    logprob: known.logprob + ((logits[offset + id] as number) - base),
  }));
}

/** Ids of the k largest finite logits, largest first, ties by id. */
function topIds({ logits, offset, size }: LogitsRow, k: number): number[] {
  if (k > mostInserted) return sortedIds({ logits, offset, size }).slice(0, k);
  const ids: number[] = [];
  let least = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < size; id++) {
    const logit = logits[offset + id] as number;
    if (logit <= least) continue;
    let at = ids.length;
    while (at > 0 && (logits[offset + (ids[at - 1] as number)] as number) < logit) at--;
    ids.splice(at, 0, id);
    if (ids.length > k) ids.pop();
    if (ids.length === k) least = logits[offset + (ids[k - 1] as number)] as number;
  }
  return ids;
}

function sortedIds({ logits, offset, size }: LogitsRow): number[] {
  const at = (id: number) => logits[offset + id] as number;
  const ids = Array.from({ length: size }, (_, id) => id);
  return ids.filter((id) => at(id) > Number.NEGATIVE_INFINITY).sort((a, b) => at(b) - at(a) || a - b);
}
