import { dispose, setBackend, type Tensor, tensor, engine as tfEngine, tidy } from "@tensorflow/tfjs-core";
import { EngineError } from "../core/errors.ts";
import type { Arr, Dtype, Tree } from "./array.ts";
import type { Engine, Jitted } from "./engine.ts";
import { registerGradients } from "./gradients/register.ts";
import { isArr, isTensor, leavesOf, mapTree } from "./tree.ts";

/** An engine that runs each function at once; `under` puts tfjs' backend in place around a synchronous body. */
export class EagerEngine implements Engine {
  readonly backend: string;
  private readonly under: <T>(body: () => T) => T;
  private runs = 0;
  private closed = false;

  constructor(backend: string, under: <T>(body: () => T) => T) {
    this.backend = backend;
    this.under = under;
    registerGradients();
  }

  /** Nothing is compiled and nothing cached. */
  get stats() {
    return { compiles: 0, runs: this.runs, sessions: 0 };
  }

  jit<F extends (...inputs: never[]) => Tree<Tensor>>(name: string, fn: F): Jitted<F> {
    const run = async (...inputs: readonly Tree<Arr>[]): Promise<Tree<Arr>> => {
      if (this.closed) throw new EngineError({ what: `${name} was called after the engine was disposed` });
      this.runs++;
      // Synchronous from here to the last read: no other call can change tfjs' backend in between.
      return this.under(() => evaluate(fn, inputs));
    };
    return run as Jitted<F>;
  }

  async dispose(): Promise<void> {
    this.closed = true;
  }
}

function evaluate(fn: (...inputs: never[]) => Tree<Tensor>, inputs: readonly Tree<Arr>[]): Tree<Arr> {
  let result: Tree<Arr> = [];
  let outputs: Tensor[] = [];
  tidy(() => {
    const given = inputs.map((tree) =>
      mapTree(tree, isArr, ({ data, shape, dtype }) => tensor(data, [...shape], dtype)),
    );
    const out = fn(...(given as never[]));
    outputs = leavesOf(out, isTensor);
    result = mapTree(out, isTensor, (t): Arr => {
      const data = t.dataSync() as Float32Array;
      return { shape: t.shape, dtype: t.dtype as Dtype, data: data.slice() };
    });
  });
  // A function may tf.keep what it returns; nothing of a call outlives it.
  dispose(outputs);
  return result;
}

/** Runs `body` with tfjs' global backend set to `name`, then puts it back. */
export function onBackend<T>(name: string, body: () => T): T {
  const before = tfEngine().backendName as string | undefined;
  void setBackend(name);
  try {
    return body();
  } finally {
    if (before && before !== name) void setBackend(before);
  }
}
