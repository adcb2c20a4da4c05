import type { Tensor } from "@tensorflow/tfjs-core";
import * as tf from "@tensorflow/tfjs-core";
import { zip } from "../core/zip.ts";
import type { Arr, Params } from "../engine/array.ts";
import type { Engine } from "../engine/engine.ts";
import { entropyOf, gatherRows, targetLogprobs } from "../engine/ops.ts";
import { type AdamState, adamScalars, adamStep, type OptimizerConfig, scalar, zerosLike } from "./adam.ts";
import { checkUpdate } from "./diverged.ts";
import {
  fillBatch,
  type MicroBatch,
  type Picked,
  pickPositions,
  planBatches,
  unfill,
  type WeightedRow,
} from "./micro-batch.ts";
import { hiddenStates, logitsOf } from "./policy/forward.ts";
import type { Policy } from "./policy/policy.ts";
import { type KlName, klTerms, type SurrogateName, surrogates } from "./surrogate.ts";

export interface LossConfig {
  readonly surrogate: SurrogateName;
  readonly kl: KlName;
  readonly klCoefficient: number;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly entropyCoefficient: number;
}

/**
 * What one update did. Token lists are [rows][T] in nats, of the weights before the step and at the sampling temperature.
 * Index 0 is 0: nothing predicts it. From `largeVocabulary` on so is every token that neither counts nor weighs anything.
 */
export interface UpdateReport {
  /** Σ w·ℓ over the update, without the KL and entropy terms (`lossTerms` has those). */
  readonly policyLoss: number;
  /** Global L2 norm before clipping. */
  readonly gradNorm: number;
  /** log π_θ of each token. */
  readonly logprobs: readonly (readonly number[])[];
  /** Entropy of the distribution that each token was drawn from. */
  readonly entropies: readonly (readonly number[])[];
  /** Token slots computed, padding included. */
  readonly slots: number;
  /** Of each adapter that was updated, where there are several; the numbers above are then of all together. */
  readonly adapters?: Readonly<Record<string, Pick<UpdateReport, "policyLoss" | "gradNorm">>>;
}

type Named = Record<string, Tensor>;
type LossScalars = {
  inverseTemperature: Arr;
  clipLow: Arr;
  clipHigh: Arr;
  klCoefficient: Arr;
  entropyCoefficient: Arr;
};

/** From this vocabulary on, logits are computed only where they are needed: [B·T, V] is then most of the memory. */
const largeVocabulary = 4096;

type Tensors<T> = { [K in keyof T]: Tensor };

export interface LearnStepOptions {
  readonly engine: Engine;
  /** Its shape and its frozen weights; those that learn are given to each call. */
  readonly policy: Pick<Policy, "config" | "lora" | "frozen">;
  readonly loss: LossConfig;
  readonly optimizer: OptimizerConfig;
  /** Token slots of one micro-batch, padding included. */
  readonly slots: number;
  /** The config's key of the learning rate, for what to do when training diverges; default RL's. */
  readonly rateKey?: string;
  /** Least vocabulary for which logits are computed only at the positions that need them. */
  readonly pickFrom?: number;
}

/** The compiled graphs of a loss. They keep no weights: several sets of one shape share them. */
export interface LearnStep {
  /**
   * Accumulates the gradient over micro-batches on the device, clips, steps.
   * @throws DivergedError when loss, gradient or new weights are no numbers
   */
  step(
    rows: readonly WeightedRow[],
    from: { readonly trainable: Params; readonly adam: AdamState },
    o: { temperature: number; learningRate: number },
  ): Promise<{ readonly trainable: Params; readonly adam: AdamState; readonly report: UpdateReport }>;
  /** log π of each token under the weights, [rows][T] as in UpdateReport. */
  logprobs(rows: readonly WeightedRow[], temperature: number, trainable: Params): Promise<number[][]>;
}

export function learnStep(o: LearnStepOptions): LearnStep {
  const { engine, loss, slots, pickFrom = largeVocabulary, rateKey = "rl.schedule.learningRate" } = o;
  const { config, lora, frozen } = o.policy;
  let zeros: Params | undefined;

  /** What the graph needs to pick positions; {} where it computes them all. */
  const pick = (batch: MicroBatch): Picked | Record<string, never> =>
    config.vocabSize >= pickFrom ? pickPositions(batch) : {};

  /** Log-probability of each target and entropy at each position, [B, T]; 0 at positions that were not picked. */
  const forward = (
    params: Named,
    { ids, targets }: { ids: Tensor; targets: Tensor },
    picked: Tensors<Picked> | Record<string, never>,
    inverseTemperature: Tensor,
  ) => {
    const hidden = hiddenStates(config, params, ids, lora ? { lora } : {}); // [B·T, D]
    const at = "positions" in picked ? (picked as Tensors<Picked>) : undefined;
    const read = at ? gatherRows(hidden, at.positions) : hidden; // [N, D]
    // The temperature goes over [N, D] instead of [N, V]: the head is linear.
    const z = logitsOf(config, params, tf.mul(read, inverseTemperature)); // [N, V]
    const back = (values: Tensor) => {
      if (!at) return tf.reshape(values, ids.shape);
      const table = tf.reshape(tf.concat([values, tf.zeros([1])]), [values.size + 1, 1]);
      return tf.reshape(gatherRows(table, at.places), ids.shape);
    };
    return {
      logprobs: back(targetLogprobs(z, at ? at.targets : tf.reshape(targets, [-1])).logprobs),
      entropies: back(entropyOf(z)),
    };
  };

  const gradStep = engine.jit(
    "grad",
    (
      trainable: Named,
      fixed: Named,
      sum: Named,
      batch: Tensors<MicroBatch>,
      picked: Tensors<Picked> | Record<string, never>,
      s: Tensors<LossScalars>,
    ) => {
      const names = Object.keys(trainable);
      let aux = {} as { policyLoss: Tensor; logprobs: Tensor; entropies: Tensor };
      const { grads } = tf.valueAndGrads((...weights: Tensor[]) => {
        const params = { ...fixed, ...Object.fromEntries(zip(names, weights)) };
        const { logprobs, entropies } = forward(params, batch, picked, s.inverseTemperature);
        const tokenLoss = surrogates[loss.surrogate]({
          logprobs,
          old: batch.old,
          advantages: batch.advantages,
          mask: batch.mask,
          clipLow: s.clipLow,
          clipHigh: s.clipHigh,
        });
        const policyLoss = tf.sum(tf.mul(tokenLoss, batch.weights));
        let total = policyLoss as Tensor;
        if (loss.kl !== "none") {
          const delta = tf.mul(tf.sub(logprobs, batch.reference), batch.mask);
          total = tf.add(
            total,
            tf.mul(tf.sum(tf.mul(klTerms[loss.kl](delta), batch.weights)), s.klCoefficient),
          );
        }
        if (loss.entropyCoefficient !== 0)
          total = tf.sub(total, tf.mul(tf.sum(tf.mul(entropies, batch.weights)), s.entropyCoefficient));
        aux = { policyLoss: tf.keep(policyLoss), logprobs: tf.keep(logprobs), entropies: tf.keep(entropies) };
        return total as tf.Scalar;
      })(names.map((n) => trainable[n]!));
      const added: Named = {};
      for (const [n, g] of zip(names, grads)) added[n] = tf.add(sum[n]!, g);
      return { sum: added, ...aux };
    },
  );

  const applyStep = engine.jit(
    "apply",
    (
      weights: Named,
      grads: Named,
      mu: Named,
      nu: Named,
      s: { learningRate: Tensor; correction1: Tensor; correction2: Tensor },
    ) => adamStep(weights, grads, mu, nu, s, o.optimizer),
  );

  const logprobStep = engine.jit(
    "logprobs",
    (
      trainable: Named,
      fixed: Named,
      batch: { ids: Tensor; targets: Tensor },
      picked: Tensors<Picked> | Record<string, never>,
      inverseTemperature: Tensor,
    ) => forward({ ...fixed, ...trainable }, batch, picked, inverseTemperature).logprobs,
  );

  const lengthsOf = (rows: readonly WeightedRow[]) => rows.map((r) => r.tokens.length);

  return {
    async step(rows, { trainable, adam }, { temperature, learningRate }) {
      const scalars: LossScalars = {
        inverseTemperature: scalar(1 / temperature),
        clipLow: scalar(loss.clipLow),
        clipHigh: scalar(loss.clipHigh),
        klCoefficient: scalar(loss.klCoefficient),
        entropyCoefficient: scalar(loss.entropyCoefficient),
      };
      const lengths = lengthsOf(rows);
      const logprobs: number[][] = new Array(rows.length);
      const entropies: number[][] = new Array(rows.length);
      zeros ??= zerosLike(trainable);
      let sum: Params = zeros;
      let policyLoss = 0;
      let computed = 0;
      for (const block of planBatches(lengths, slots)) {
        const batch = fillBatch(block, rows, config.padId ?? 0);
        const out = await gradStep(trainable, frozen, sum, batch, pick(batch), scalars);
        sum = out.sum;
        policyLoss += out.policyLoss.data[0]!;
        computed += block.B * block.T;
        unfill(block, out.logprobs.data, lengths, (row, values) => {
          logprobs[row] = values;
        });
        unfill(block, out.entropies.data, lengths, (row, values) => {
          entropies[row] = values;
        });
      }
      const t = adam.step + 1;
      const next = await applyStep(
        trainable,
        sum,
        adam.mu,
        adam.nu,
        adamScalars(t, learningRate, o.optimizer),
      );
      const gradNorm = next.gradNorm.data[0]!;
      checkUpdate({ policyLoss, gradNorm, weights: next.weights, updates: adam.step, rateKey });
      return {
        trainable: next.weights,
        adam: { step: t, mu: next.mu, nu: next.nu },
        report: { policyLoss, gradNorm, logprobs, entropies, slots: computed },
      };
    },
    async logprobs(rows, temperature, trainable) {
      const lengths = lengthsOf(rows);
      const out: number[][] = new Array(rows.length);
      for (const block of planBatches(lengths, slots)) {
        const batch = fillBatch(block, rows, config.padId ?? 0);
        const values = await logprobStep(
          trainable,
          frozen,
          { ids: batch.ids, targets: batch.targets },
          pick(batch),
          scalar(1 / temperature),
        );
        unfill(block, values.data, lengths, (row, list) => {
          out[row] = list;
        });
      }
      return out;
    },
  };
}
