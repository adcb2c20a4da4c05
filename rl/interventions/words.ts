import type { Action, Intervention } from "./state.ts";

const number = (value: number) => (Number.isInteger(value) ? String(value) : value.toPrecision(3));

const words: { readonly [K in Action["do"]]: (action: Extract<Action, { do: K }>) => string } = {
  weights: ({ factors }) =>
    `weight of ${Object.entries(factors)
      .map(([part, factor]) => `${part} × ${number(factor)}`)
      .join(", ")}`,
  harder: ({ share }) => `${Math.round(100 * share)} % of the questions from the hardest`,
  restart: ({ from }) => `weights and optimiser of the checkpoint of step ${from}`,
  learningRate: ({ factor, most }) =>
    [
      factor !== 1 && `learning rate × ${number(factor)}`,
      most !== undefined && `learning rate at most ${most}`,
    ]
      .filter(Boolean)
      .join(", "),
  freeze: ({ learn, until }) => `only ${learn.join(" and ")} learn until step ${until}`,
};

const saw = {
  processWeight: "the reward rises while held-out exact match falls",
  stableRestart: "format failures jumped",
  freezeRoles: "what the roles write becomes alike",
} as const;

/** An intervention as a sentence, with the numbers it was decided on. */
export function interventionWords({ rule, evidence, actions }: Intervention): string {
  const numbers = Object.entries(evidence).map(([name, value]) => `${name} ${number(value)}`);
  const done = actions.map((action) => (words[action.do] as (a: Action) => string)(action));
  return `${rule}: ${saw[rule]} (${numbers.join(", ")}): ${done.join("; ") || "nothing more is done: it has acted as often as it may"}`;
}
