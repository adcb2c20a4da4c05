import { Deadline } from "../rollout/deadline.ts";

/** The deadline of one step's rollouts. */
export interface StepDeadline {
  /** Fires when the second half is over: open episodes are cut. */
  readonly cut: AbortSignal;
  /** Begins to count, once; later calls do nothing. */
  start(): void;
  end(): void;
}

/**
 * A deadline for slow requests: after `milliseconds` (0 is never) `hurry` is called once, so that they are tried
 * elsewhere; after as long again what is still open is cut.
 */
export function stepDeadline(milliseconds: number, hurry: () => void): StepDeadline {
  const controller = new AbortController();
  let timer: Deadline | undefined;
  return {
    cut: controller.signal,
    start() {
      timer ??= new Deadline(milliseconds, () => {
        timer = new Deadline(milliseconds, () => controller.abort());
        hurry();
      });
    },
    end: () => timer?.end(),
  };
}
