import type { Finding } from "../rollout/endpoint/probe.ts";
import type { Setup } from "./setup.ts";

/** What a check may ask. */
export interface Patient {
  readonly setup: Setup;
  readonly signal: AbortSignal;
}

/** One check of a config and the machine it stands on. */
export interface HealthCheck {
  readonly name: string;
  /** Cheap ones are made by `train` too, before its first token. */
  readonly cheap: boolean;
  /** undefined: does not apply to this config. Throws where the check itself could not be made. */
  readonly run: (patient: Patient) => Promise<Finding | undefined>;
}

export interface CheckResult extends Finding {
  readonly name: string;
}

/** Runs checks one after the other; one that throws has failed, and its error is the evidence. */
export async function* examine(
  checks: readonly HealthCheck[],
  patient: Patient,
): AsyncGenerator<CheckResult> {
  for (const { name, run } of checks) {
    patient.signal.throwIfAborted();
    const finding = await run(patient).catch((error: Error): Finding => {
      if (patient.signal.aborted) throw patient.signal.reason;
      return { verdict: "fail", evidence: error.message };
    });
    if (finding) yield { name, ...finding };
  }
}

const marks = { ok: "ok  ", warn: "warn", fail: "FAIL" } as const;

/** A finding for people: what was seen, and the next move on a line of its own. */
export function checkLine({ name, verdict, evidence, next }: CheckResult): string {
  const head = `${marks[verdict]}  ${name.padEnd(12)} ${evidence}`;
  return next === undefined ? head : `${head}\n${" ".repeat(19)}→ ${next}`;
}
