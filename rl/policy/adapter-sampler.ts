import { InvariantError } from "../../core/errors.ts";
import type { Completion, SampleRequest } from "../../rollout/sampler.ts";
import { viewOf } from "./adapters.ts";
import { createSampler, type PolicySampler, type SamplerOptions, sharedParts } from "./generate.ts";

/** The adapter that a seat plays by. */
export type AdapterOf = (seat: string) => string | undefined;

const allKeepBytes = 4 * 2 ** 30;

/**
 * The in-process sampler of a policy of one set of weights or of several. Of several, each request goes to the adapter of
 * its seat: a sampler for each, which keeps the sequences of its seats, one after the other in the order of the adapters.
 * They share compiled programs and the arena of the batch in hand, so that memory does not grow with their number. The
 * same batch in the same order gives the same bits.
 */
export function createPolicySampler(
  o: SamplerOptions & { readonly adapterOf?: AdapterOf | undefined },
): PolicySampler {
  const { policy, adapterOf = () => undefined, keepBytes = allKeepBytes } = o;
  const { adapters } = policy;
  if (!adapters) return createSampler(o);
  const shared = sharedParts(o.engine, policy);
  const samplers = new Map(
    adapters.map((adapter) => [
      adapter,
      createSampler({
        ...{ ...o, policy: viewOf(policy, adapter), shared },
        keepBytes: Math.floor(keepBytes / adapters.length),
      }),
    ]),
  );
  const [first] = samplers.values();
  let queue: Promise<unknown> = Promise.resolve();

  const run = async (requests: readonly SampleRequest[], signal: AbortSignal | undefined) => {
    const names = requests.map((request) => adapterOfRequest(request, adapterOf, adapters));
    const completions = new Array<Completion>(requests.length);
    for (const [adapter, sampler] of samplers) {
      const places = requests.flatMap((_, i) => (names[i] === adapter ? [i] : []));
      if (places.length === 0) continue;
      signal?.throwIfAborted();
      const done = await sampler.sampleBatch(
        places.map((place) => requests[place]!),
        signal,
      );
      places.forEach((place, i) => {
        completions[place] = done[i]!;
      });
    }
    return completions;
  };

  return {
    contextTokens: first!.contextTokens,
    // One batch at a time: the arena is one.
    sampleBatch(requests, signal) {
      const result = queue.then(() => run(requests, signal));
      queue = result.catch(() => undefined);
      return result;
    },
    release(sequence) {
      for (const sampler of samplers.values()) sampler.release(sequence);
    },
    update(next) {
      for (const [adapter, sampler] of samplers) sampler.update(viewOf(next, adapter));
    },
    dispose() {
      for (const sampler of samplers.values()) sampler.dispose();
    },
  };
}

function adapterOfRequest(
  { seat, sequence }: SampleRequest,
  adapterOf: AdapterOf,
  adapters: readonly string[],
): string {
  const adapter = seat === undefined ? undefined : adapterOf(seat);
  if (adapter !== undefined && adapters.includes(adapter)) return adapter;
  throw new InvariantError({
    what: "a turn of a seat that no adapter plays",
    where: sequence,
    got: `${seat ?? "no seat"}: ${adapter ?? "no adapter"}`,
    expected: adapters.join(", "),
  });
}
