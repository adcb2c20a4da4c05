import { InvariantError } from "../core/errors.ts";
import type { BatchSampler, Completion, SampleRequest, Sampler } from "./sampler.ts";

/** One episode's place in the waves. It is open until `leave`; while it is open, no wave goes without it. */
export interface Place extends Sampler {
  leave(): void;
}

export interface Waves {
  /**
   * Opens a place. Places of one batch are all opened before the first of their episodes starts, or the
   * first wave would leave without the late ones. `order` is the task's place in the batch.
   */
  enter(order: number, member: number): Place;
}

interface Waiting {
  readonly order: number;
  readonly member: number;
  readonly request: SampleRequest;
  readonly signal: AbortSignal | undefined;
  settled: boolean;
  resolve(completion: Completion): void;
  reject(error: unknown): void;
}

/**
 * Makes one sampler for many episodes out of a batch sampler. A wave leaves when every open episode waits
 * for it, in the order (task, member), in chunks of at most `maxRows`: so what is computed together never
 * depends on how fast a tool was. An episode waits with at least one of its seats; the seats of one episode
 * that act at the same moment travel together.
 */
export function waves(batch: BatchSampler, maxRows: number): Waves {
  const open = new Set<{ waiting: number }>();
  /** Open places that do not wait. */
  let idle = 0;
  let pending: Waiting[] = [];
  let busy = false;
  let scheduled = false;
  const released: string[] = [];

  const ready = () => !busy && pending.length > 0 && idle === 0;

  // One turn of the event loop later, so that seats which act together are all there.
  const check = () => {
    if (scheduled || !ready()) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      if (ready()) void go();
    });
  };

  const go = async () => {
    busy = true;
    const wave = pending.sort(byPlace);
    pending = [];
    for (let at = 0; at < wave.length; at += maxRows) {
      const chunk = wave.slice(at, at + maxRows).filter((each) => !each.settled);
      if (chunk.length > 0) await sample(batch, chunk);
    }
    busy = false;
    // Not while a batch runs: it may still use what is kept for the sequence.
    for (const sequence of released.splice(0)) batch.release(sequence);
    check();
  };

  return {
    enter(order, member) {
      const place = { waiting: 0 };
      open.add(place);
      idle++;
      return {
        contextTokens: batch.contextTokens,
        sample: (request, signal) =>
          new Promise<Completion>((resolve, reject) => {
            if (!open.has(place))
              return reject(
                new InvariantError({ what: "a request from an episode that has left its place" }),
              );
            if (signal?.aborted) return reject(signal.reason);
            const settle = () => {
              waiting.settled = true;
              if (--place.waiting === 0 && open.has(place)) idle++;
              signal?.removeEventListener("abort", abort);
            };
            const abort = () => waiting.reject(signal?.reason);
            const waiting: Waiting = {
              order,
              member,
              request,
              signal,
              settled: false,
              resolve(completion) {
                if (this.settled) return;
                settle();
                resolve(completion);
              },
              reject(error) {
                if (this.settled) return;
                settle();
                pending = pending.filter((each) => each !== this);
                reject(error);
              },
            };
            signal?.addEventListener("abort", abort, { once: true });
            if (place.waiting++ === 0) idle--;
            pending.push(waiting);
            check();
          }),
        release(sequence) {
          if (busy) released.push(sequence);
          else batch.release(sequence);
        },
        leave() {
          if (open.delete(place) && place.waiting === 0) idle--;
          check();
        },
      };
    },
  };
}

function byPlace(a: Waiting, b: Waiting): number {
  return a.order - b.order || a.member - b.member || (a.request.sequence < b.request.sequence ? -1 : 1);
}

/** Runs one chunk; it is aborted only when nobody waits for it any more. */
async function sample(batch: BatchSampler, chunk: readonly Waiting[]): Promise<void> {
  const controller = new AbortController();
  const given = () => {
    if (chunk.every((each) => each.settled || each.signal?.aborted)) controller.abort();
  };
  for (const { signal } of chunk) signal?.addEventListener("abort", given, { once: true });
  try {
    const requests = chunk.map((each) => each.request);
    const completions = await batch.sampleBatch(requests, controller.signal);
    if (completions.length !== chunk.length)
      throw new InvariantError({
        what: "a batch sampler answered with another number of completions",
        got: `${completions.length}`,
        expected: `${chunk.length}`,
      });
    chunk.forEach((each, i) => {
      each.resolve(completions[i] as Completion);
    });
  } catch (error) {
    for (const each of chunk) each.reject(error);
  } finally {
    for (const { signal } of chunk) signal?.removeEventListener("abort", given);
  }
}
