import { ForagerError } from "../core/errors.ts";
import { isCut } from "../rollout/groups.ts";
import type { Collected } from "./collect.ts";
import type { Trainer } from "./trainer.ts";

/** What came of a step's end. */
export interface HandedOver {
  readonly metrics: Readonly<Record<string, number>>;
  /** Ends the run, but after its step is on record. */
  readonly failure?: unknown;
}

/**
 * Publishes the policy as it stands, where the step learnt something. A version that reaches no server ends the run, and
 * so does a step whose every episode infrastructure ended: the next would only take as long again.
 */
export async function handOver(
  t: Pick<Trainer, "publish" | "learner">,
  { learnt, collected }: { learnt: boolean; collected: Pick<Collected, "sampled" | "failed"> },
): Promise<HandedOver> {
  if (!learnt) {
    const lost =
      collected.failed.length > 0 && collected.sampled.every(({ group }) => group.members.length === 0);
    return { metrics: {}, ...(lost ? { failure: lostStep(collected) } : {}) };
  }
  try {
    return { metrics: await t.publish(t.learner.policy) };
  } catch (failure) {
    return { metrics: { publish_failed: 1 }, failure };
  }
}

function lostStep({ failed }: Pick<Collected, "failed">): ForagerError {
  const last = failed.at(-1)!;
  return new ForagerError({
    what: `infrastructure ended all ${failed.length} episodes of a step`,
    got: `${last.outcome}: ${last.failure ?? "no reason given"}`,
    next: `${isCut(last) ? "Raise rl.stepTimeoutMs" : "Mend the cause"}; the run is saved: \`forager train --resume\` goes on.`,
  });
}
