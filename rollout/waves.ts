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

/** A place as the waves see it. */
interface Member {
  readonly order: number;
  readonly member: number;
  /** One request for each seat that acts. */
  readonly waiting: Waiting[];
  open: boolean;
}

/** A request that is not answered yet. */
interface Waiting {
  readonly of: Member;
  readonly request: SampleRequest;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (completion: Completion) => void;
  readonly reject: (error: unknown) => void;
  /** The batch that runs for it. */
  run: Run | undefined;
}

interface Run {
  readonly controller: AbortController;
  /** Rows that somebody still waits for. */
  wanted: number;
}

/**
 * Makes one sampler for many episodes out of a batch sampler. A wave leaves when every open episode waits
 * for it, in the order (task, member), in chunks of at most `maxRows`: so what is computed together never
 * depends on how fast a tool was. An episode waits with at least one of its seats; the seats of one episode
 * that act at the same moment travel together.
 */
export function waves(batch: BatchSampler, maxRows: number): Waves {
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
      const chunk = wave.slice(at, at + maxRows).filter(waits);
      if (chunk.length > 0) await sample(chunk);
    }
    busy = false;
    // Not while a batch runs: it may still use what is kept for the sequence.
    for (const sequence of released.splice(0)) batch.release(sequence);
    check();
  };

  const settle = (each: Waiting) => {
    const { waiting, open } = each.of;
    waiting.splice(waiting.indexOf(each), 1);
    if (waiting.length === 0 && open) idle++;
  };

  const sample = async (chunk: readonly Waiting[]) => {
    const run: Run = { controller: new AbortController(), wanted: chunk.length };
    for (const each of chunk) each.run = run;
    try {
      const completions = await batch.sampleBatch(
        chunk.map((each) => each.request),
        run.controller.signal,
      );
      if (completions.length !== chunk.length)
        throw new InvariantError({
          what: "a batch sampler answered with another number of completions",
          got: `${completions.length}`,
          expected: `${chunk.length}`,
        });
      chunk.forEach((each, i) => {
        if (!waits(each)) return;
        settle(each);
        each.resolve(completions[i] as Completion);
      });
    } catch (error) {
      for (const each of chunk.filter(waits)) {
        settle(each);
        each.reject(error);
      }
    }
  };

  /** A batch is aborted only when nobody waits for any of its rows. */
  const abort = (each: Waiting) => {
    settle(each);
    if (each.run === undefined) pending = pending.filter((other) => other !== each);
    else if (--each.run.wanted === 0) each.run.controller.abort();
    each.reject(each.signal?.reason);
  };

  return {
    enter(order, member) {
      const of: Member = { order, member, waiting: [], open: true };
      idle++;
      // One listener for all requests under one signal: an episode makes many.
      const heard: AbortSignal[] = [];
      const onAbort = () => {
        for (const each of [...of.waiting]) if (each.signal?.aborted) abort(each);
      };
      return {
        contextTokens: batch.contextTokens,
        sample: (request, signal) =>
          new Promise<Completion>((resolve, reject) => {
            if (!of.open)
              return reject(
                new InvariantError({ what: "a request from an episode that has left its place" }),
              );
            if (signal?.aborted) return reject(signal.reason);
            if (signal && !heard.includes(signal)) {
              heard.push(signal);
              signal.addEventListener("abort", onAbort, { once: true });
            }
            const waiting: Waiting = { of, request, signal, resolve, reject, run: undefined };
            if (of.waiting.length === 0) idle--;
            of.waiting.push(waiting);
            pending.push(waiting);
            check();
          }),
        release(sequence) {
          if (busy) released.push(sequence);
          else batch.release(sequence);
        },
        leave() {
          if (!of.open) return;
          of.open = false;
          if (of.waiting.length === 0) {
            idle--;
            for (const signal of heard) signal.removeEventListener("abort", onAbort);
          }
          check();
        },
      };
    },
  };
}

const waits = (each: Waiting) => each.of.waiting.includes(each);

function byPlace(a: Waiting, b: Waiting): number {
  return (
    a.of.order - b.of.order || a.of.member - b.of.member || (a.request.sequence < b.request.sequence ? -1 : 1)
  );
}
