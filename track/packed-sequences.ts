import type { Segment, Sequence } from "../rollout/trajectory.ts";

/** A segment as it is stored: its tokens as their number alone. */
export type PackedSegment = {
  seat: string;
  source: Segment["source"];
  text: string;
  n: number;
  version?: number;
  finish?: NonNullable<Segment["finish"]>;
  /** Played by somebody else than the policy. */
  outside?: true;
};

/** Does it open a sequence? A seat that began anew has several, one after the other. */
export const opensSequence = (
  { seat, source }: Pick<PackedSegment, "seat" | "source">,
  last: { readonly seat: string } | undefined,
): boolean => last?.seat !== seat || source === "prompt";

/** Texts as JSON; ids and log-probabilities as little-endian BLOBs over all segments in order. */
export function pack(sequences: readonly Sequence[], keepTokens: boolean) {
  const all = sequences.flatMap(({ seat, outside, segments }) =>
    segments.map((segment) => ({ seat, outside, segment })),
  );
  const segments: PackedSegment[] = all.map(({ seat, outside, segment: g }) => ({
    seat,
    source: g.source,
    text: g.text,
    n: g.tokens.length,
    ...(g.version === undefined ? {} : { version: g.version }),
    ...(g.finish === undefined ? {} : { finish: g.finish }),
    ...(outside && { outside }),
  }));
  if (!keepTokens) return { segments: JSON.stringify(segments), tokens: null, logprobs: null };
  const tokens = Int32Array.from(all.flatMap(({ segment }) => [...segment.tokens]));
  const logprobs = Float32Array.from(all.flatMap(({ segment }) => [...(segment.logprobs ?? [])]));
  const bytes = (a: Int32Array | Float32Array) => Buffer.from(a.buffer, a.byteOffset, a.byteLength);
  return { segments: JSON.stringify(segments), tokens: bytes(tokens), logprobs: bytes(logprobs) };
}

/** What was packed, read back. A segment has no tokens where none were kept. */
export function unpackSequences(row: {
  readonly segments: string;
  readonly tokens: Buffer | null;
  readonly logprobs: Buffer | null;
}): Sequence[] {
  const packed = JSON.parse(row.segments) as PackedSegment[];
  const tokens = row.tokens && new Int32Array(new Uint8Array(row.tokens).buffer);
  const logprobs = row.logprobs && new Float32Array(new Uint8Array(row.logprobs).buffer);
  let [atToken, atLogprob] = [0, 0];
  const sequences: (Sequence & { segments: Segment[] })[] = [];
  for (const { seat, n, outside, ...rest } of packed) {
    if (opensSequence({ seat, source: rest.source }, sequences.at(-1)))
      sequences.push({ seat, ...(outside && { outside }), segments: [] });
    const own = rest.source === "policy";
    sequences.at(-1)!.segments.push({
      ...rest,
      tokens: tokens ? Array.from(tokens.subarray(atToken, atToken + n)) : [],
      ...(own && logprobs ? { logprobs: Array.from(logprobs.subarray(atLogprob, atLogprob + n)) } : {}),
    });
    atToken += n;
    if (own) atLogprob += n;
  }
  return sequences;
}
