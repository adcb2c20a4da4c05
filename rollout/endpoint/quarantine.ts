/** What is known of a replica's health. */
export interface Health {
  /** `probing` is half-open: its adapters are loaded, and one request is let through to see. */
  readonly state: "healthy" | "quarantined" | "probing";
  /** Failures since the last success. */
  readonly failures: number;
  /** Quarantines and failed probes since a request last succeeded after one. */
  readonly level: number;
}

/**
 * `succeeded`, `failed`: a request ended so. `broke`: a failure that needs no second one. `checked`: the health probe of
 * a quarantined replica went well; `unchecked`: it did not.
 */
export type HealthEvent = "succeeded" | "failed" | "broke" | "checked" | "unchecked";

/** Failures in a row that quarantine a replica. */
export const tolerated = 3;

/** The longest back-off is this many times the first. */
const longest = 64;

export const healthy: Health = { state: "healthy", failures: 0, level: 0 };

const quarantined = ({ level }: Health): Health => ({ state: "quarantined", failures: 0, level: level + 1 });
const same = (health: Health) => health;

/** healthy → quarantined → probing → healthy. Requests from before a quarantine say nothing about a replica in it. */
const transitions: Record<Health["state"], Record<HealthEvent, (health: Health) => Health>> = {
  healthy: {
    succeeded: (health) => (health.failures === 0 ? health : { ...health, failures: 0 }),
    failed: (health) =>
      health.failures + 1 >= tolerated ? quarantined(health) : { ...health, failures: health.failures + 1 },
    broke: quarantined,
    checked: same,
    unchecked: same,
  },
  quarantined: {
    succeeded: same,
    failed: same,
    broke: same,
    checked: (health) => ({ ...health, state: "probing" }),
    unchecked: quarantined,
  },
  probing: {
    succeeded: () => healthy,
    failed: quarantined,
    broke: quarantined,
    checked: same,
    unchecked: same,
  },
};

export function afterEvent(health: Health, event: HealthEvent): Health {
  return transitions[health.state][event](health);
}

/** How long a quarantined replica rests before its next probe, in the unit of `shortest`: doubled each time, bounded. */
export function backOff({ level }: Health, shortest: number): number {
  return shortest * Math.min(longest, 2 ** Math.max(0, level - 1));
}
