import {
  add,
  concat,
  customGrad,
  div,
  engine,
  exp,
  gather,
  gatherND,
  log,
  logSoftmax,
  matMul,
  max,
  mul,
  neg,
  oneHot,
  range,
  reshape,
  scalar,
  scatterND,
  slice,
  stack,
  sub,
  sum,
  type Tensor,
  zeros,
} from "@tensorflow/tfjs-core";
import { RECORDER } from "./backend.ts";

/** Up to this many rows the gradient of a lookup is a matrix product: at 2,560 × 192 on two threads 1.7 against 3.1 ms for 128 rows, 8 against 3.3 (CPU time) for 512. */
const ONE_HOT_ROWS = 256;

/**
 * Longer rows are summed in two stages: ONNX Runtime's softmax adds in one chain of float32, off by up to 4.5e-5 in
 * log p at 49,152 columns, more than a sampler's and a trainer's log-probabilities may differ.
 */
const LONG_ROW = 4096;

const recording = (): boolean => engine().backendName === RECORDER;

/** Runs one of our own kernels, known to the recording backend alone. */
const own = (name: string, inputs: Record<string, Tensor>): Tensor =>
  engine().runKernel(name, inputs as never);

/**
 * Embedding lookup: table [V, D], ids int32 of any shape → [...ids, D]. The gradient with respect to the table adds
 * rows of repeated ids in a fixed order, so it is right and the same every time.
 */
export function gatherRows(table: Tensor, ids: Tensor): Tensor {
  const [rows, width] = table.shape as [number, number];
  const flat = reshape(ids, [ids.size]);
  const lookup = customGrad((...args) => {
    const [t, save] = args as unknown as [Tensor, (saved: Tensor[]) => void];
    save([flat]);
    return {
      value: gather(t, flat),
      gradFunc: (dy, saved) => {
        const [at] = saved as [Tensor];
        if (rows <= ONE_HOT_ROWS)
          return matMul(oneHot(at as never, rows), reshape(dy, [at.size, width]), true);
        return engine().runKernel(
          "UnsortedSegmentSum",
          { x: dy, segmentIds: at } as never,
          { numSegments: rows } as never,
        ) as Tensor;
      },
    };
  });
  return reshape(lookup(table), [...ids.shape, width]);
}

/** x[n, ids[n]]: x [N, V], ids int32 [N] → [N]. No gradient of its own. */
export function pick(x: Tensor, ids: Tensor): Tensor {
  return recording() ? own("PickPerRow", { x, ids }) : gatherND(x, cells(ids));
}

/** c + a·b with broadcasting, rounded once as a fused multiply-add is. No gradient of its own. */
export function mulAdd(a: Tensor, b: Tensor, c: Tensor): Tensor {
  return recording() ? own("MulAdd", { a, b, c }) : add(c, mul(a, b));
}

/** x [N, V] with values [N] added at [n, ids[n]]. */
function addAt(x: Tensor, ids: Tensor, values: Tensor): Tensor {
  if (recording()) return own("AddPerRow", { x, ids, values });
  return sub(x, scatterND(cells(ids) as never, neg(values), x.shape as never));
}

const cells = (ids: Tensor): Tensor => stack([range(0, ids.size, 1, "int32"), ids], 1);

/**
 * Log-probability of one target per row: logits [N, V], ids int32 [N] → logprobs [N] and logsumexp [N], both with
 * gradients. One softmax forwards, one product backwards; never a one-hot [N, V].
 */
export function targetLogprobs(logits: Tensor, ids: Tensor): { logprobs: Tensor; logsumexp: Tensor } {
  const count = ids.size;
  // customGrad returns one tensor: the two results lie one after the other in it.
  const both = customGrad((...args) => {
    const [z, save] = args as unknown as [Tensor, (saved: Tensor[]) => void];
    const { centred, total, logTotal } = rowSoftmax(z);
    const chosen = sub(pick(centred, ids), logTotal);
    save([centred, total, ids]);
    return {
      value: concat([chosen, sub(pick(z, ids), chosen)]),
      gradFunc: (dy, saved) => {
        const [c, sums, at] = saved as [Tensor, Tensor, Tensor];
        const dLogprob = slice(dy, [0], [count]);
        const dLse = slice(dy, [count], [count]);
        const spread = mul(exp(c), column(div(sub(dLse, dLogprob), sums)));
        return addAt(spread, at, dLogprob);
      },
    };
  })(logits);
  return { logprobs: slice(both, [0], [count]), logsumexp: slice(both, [count], [count]) };
}

/** Entropy of each row's softmax, in nats: logits [N, V] → [N], with its gradient −p·(log p + H). */
export function entropyOf(logits: Tensor): Tensor {
  return customGrad((...args) => {
    const [z, save] = args as unknown as [Tensor, (saved: Tensor[]) => void];
    const { centred, total, logTotal } = rowSoftmax(z);
    const mean = div(rowSums(mul(exp(centred), centred)), total);
    save([centred, total, mean]);
    return {
      value: sub(logTotal, mean),
      gradFunc: (dy, saved) => {
        const [c, sums, at] = saved as [Tensor, Tensor, Tensor];
        // log p + H is how far a centred logit lies above their mean under p.
        return mul(mul(exp(c), sub(column(at), c)), column(div(dy as Tensor, sums)));
      },
    };
  })(logits);
}

const column = (x: Tensor): Tensor => reshape(x, [x.size, 1]);

/** p = exp(centred) / total and log p = centred − log total, of each row. */
interface RowSoftmax {
  /** [N, V] */
  readonly centred: Tensor;
  /** [N], or the scalars 1 and 0. */
  readonly total: Tensor;
  readonly logTotal: Tensor;
}

function rowSoftmax(z: Tensor): RowSoftmax {
  if (columns(z) <= LONG_ROW) return { centred: logSoftmaxRows(z), total: scalar(1), logTotal: scalar(0) };
  const centred = sub(z, max(z, -1, true));
  const total = rowSums(exp(centred));
  return { centred, total, logTotal: log(total) };
}

const columns = (x: Tensor): number => x.shape[1] as number;

/** [N, V] → [N]; long rows in two stages, of about √V numbers each. */
function rowSums(x: Tensor): Tensor {
  const [rows, width] = x.shape as [number, number];
  if (width <= LONG_ROW) return sum(x, -1);
  const part = 2 ** Math.round(Math.log2(width) / 2);
  const rest = (part - (width % part)) % part;
  const even = rest === 0 ? x : concat([x, zeros([rows, rest])], 1);
  return sum(sum(reshape(even, [rows, (width + rest) / part, part]), -1), -1);
}

/** log softmax over the last axis, as one kernel where there is one. */
function logSoftmaxRows(x: Tensor): Tensor {
  if (!recording()) return logSoftmax(x);
  return engine().runKernel("LogSoftmax", { logits: x } as never, { axis: -1 } as never) as Tensor;
}
