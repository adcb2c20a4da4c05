import { dispose, engine, setBackend, type Tensor, tidy } from "@tensorflow/tfjs-core";
import { EngineError, ForagerError } from "../core/errors.ts";
import type { Arr, Tree } from "./array.ts";
import { RECORDER, recorder } from "./backend.ts";
import { Graph } from "./graph.ts";
import { encodeProgram, type Program } from "./onnx.ts";
import { callerOf, withDeepStacks } from "./stack.ts";
import { isArr, isTensor, leavesOf, mapTree } from "./tree.ts";

export interface Traced {
  readonly program: Program;
  /** The result's tree; its leaves are positions in `program.outputs`. */
  readonly result: Tree<number>;
}

/**
 * Calls `fn` once on tensors without numbers and writes what it did as an ONNX program. Synchronous: the
 * backend of tfjs is switched for the duration of the call and put back.
 */
export function trace(
  name: string,
  fn: (...inputs: never[]) => Tree<Tensor>,
  inputs: readonly Tree<Arr>[],
): Traced {
  const backend = recorder();
  if (backend.graph)
    throw new EngineError({
      what: `${name} was compiled while another function is traced`,
      next: "Call the plain function inside.",
    });
  const graph = new Graph();
  const before = engine().backendName as string | undefined;
  backend.graph = graph;
  void setBackend(RECORDER);
  const temporary: Tensor[] = [];
  try {
    const tensors = inputs.map((tree) =>
      mapTree(tree, isArr, ({ shape, dtype }) => {
        const tensor = engine().makeTensorFromTensorInfo(backend.put(graph.input(shape, dtype)));
        temporary.push(tensor);
        return tensor;
      }),
    );
    let traced: Traced | undefined;
    withDeepStacks(() =>
      tidy(() => {
        const out = fn(...(tensors as never[]));
        const leaves = leavesOf(out, isTensor);
        // A function may tf.keep what it returns; nothing of a trace outlives it.
        temporary.push(...leaves);
        const values = leaves.map((t) => graph.reshape(backend.recorded(t.dataId), t.shape));
        let next = 0;
        traced = { program: encodeProgram(graph, values), result: mapTree(out, isTensor, () => next++) };
      }),
    );
    return traced as Traced;
  } catch (error) {
    throw explain(name, error);
  } finally {
    dispose(temporary);
    backend.graph = undefined;
    if (before && before !== RECORDER) void setBackend(before);
  }
}

/** tfjs' own complaints, and ours, with the function's name and the line that called the kernel. */
function explain(name: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const where = `${name}, ${callerOf(error)}`;
  const missing = /Kernel '(.+)' not registered for backend/.exec(error.message);
  if (missing)
    return new EngineError({
      what: `unknown kernel ${missing[1]}`,
      where,
      expected: "a kernel of the table in engine/kernels",
      next: "Write it with other operations, or add a row to the table.",
      cause: error,
    });
  if (error instanceof EngineError) return new EngineError({ ...error.complaint, where, cause: error });
  if (error instanceof ForagerError) return error;
  return new EngineError({ what: `tracing failed: ${error.message}`, where, cause: error });
}
