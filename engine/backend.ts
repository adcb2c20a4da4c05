import {
  type BackendValues,
  type DataId,
  DataStorage,
  type DataType,
  engine,
  getKernel,
  KernelBackend,
  registerBackend,
  registerKernel,
  type TensorInfo,
} from "@tensorflow/tfjs-core";
import { EngineError } from "../core/errors.ts";
import type { Dtype } from "./array.ts";
import { registerGradients } from "./gradients/register.ts";
import { constant, type Graph, scalar, type Value } from "./graph.ts";
import type { Kernel } from "./kernels/kernel.ts";
import { kernels } from "./kernels/table.ts";

/** The name under which tfjs knows the recording backend. */
export const RECORDER = "forager";

interface Stored {
  readonly value: Value;
  refs: number;
}

/** A tfjs backend whose tensors hold no numbers: every kernel adds nodes to the graph of the current trace. */
class RecordingBackend extends KernelBackend {
  /** The trace in progress. */
  graph: Graph | undefined;
  private readonly data: DataStorage<Stored> = new DataStorage<Stored>(this, engine());

  put(value: Value): TensorInfo {
    const dataId = {};
    this.data.set(dataId, { value, refs: 1 });
    return { dataId, shape: [...value.shape], dtype: value.dtype as Dtype };
  }

  recorded(dataId: DataId): Value {
    return this.data.get(dataId).value;
  }

  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    return this.put(written(values, shape, dtype)).dataId;
  }
  override move(dataId: DataId, values: BackendValues, shape: number[], dtype: DataType, refs: number): void {
    this.data.set(dataId, { value: written(values, shape, dtype), refs });
  }
  override readSync(dataId: DataId): BackendValues {
    const { source, dtype, shape } = this.recorded(dataId);
    if (source.kind === "constant") return source.data.slice() as BackendValues;
    if (source.kind === "fill") {
      const length = shape.reduce((n, d) => n * d, 1);
      if (dtype === "int32") return new Int32Array(length).fill(source.value);
      return (dtype === "bool" ? new Uint8Array(length) : new Float32Array(length)).fill(source.value);
    }
    throw new EngineError({
      what: "the numbers of a recorded tensor were read while its function is traced",
      got: `${dtype} [${shape}]`,
      expected: "a function that only combines tensors (no dataSync, arraySync, print or branch on values)",
      next: "Return the tensor from the function and read it from the result.",
    });
  }
  override async read(dataId: DataId): Promise<BackendValues> {
    return this.readSync(dataId);
  }
  override refCount(dataId: DataId): number {
    return this.data.has(dataId) ? this.data.get(dataId).refs : 0;
  }
  override incRef(dataId: DataId): void {
    this.data.get(dataId).refs++;
  }
  override disposeData(dataId: DataId, force = false): boolean {
    if (!this.data.has(dataId)) return true;
    const stored = this.data.get(dataId);
    stored.refs--;
    if (!force && stored.refs > 0) return false;
    return this.data.delete(dataId);
  }
  override numDataIds(): number {
    return this.data.numDataIds();
  }
  override timerAvailable(): boolean {
    return false;
  }
  override memory(): { unreliable: boolean } {
    return { unreliable: false };
  }
  override floatPrecision(): 16 | 32 {
    return 32;
  }
  override epsilon(): number {
    return 1e-7;
  }
  override dispose(): void {}
}

function written(values: BackendValues, shape: readonly number[], dtype: DataType): Value {
  if (dtype !== "float32" && dtype !== "int32" && dtype !== "bool")
    throw new EngineError({
      what: "a tensor of an unsupported dtype",
      got: dtype,
      expected: "float32, int32 or bool",
    });
  const numbers = values as Float32Array | Int32Array | Uint8Array;
  if (numbers.length === 1)
    return shape.length ? constant(typed(numbers, dtype), shape, dtype) : scalar(Number(numbers[0]), dtype);
  return constant(typed(numbers, dtype), shape, dtype);
}

function typed(values: ArrayLike<number>, dtype: Dtype): Float32Array | Int32Array | Uint8Array {
  if (dtype === "float32") return values instanceof Float32Array ? values : Float32Array.from(values);
  if (dtype === "int32") return values instanceof Int32Array ? values : Int32Array.from(values);
  return values instanceof Uint8Array ? values : Uint8Array.from(values);
}

let backend: RecordingBackend | undefined;

/** Registers the backend and its kernels with tfjs, once. */
export function recorder(): RecordingBackend {
  if (backend) return backend;
  const made = new RecordingBackend();
  backend = made;
  registerGradients();
  registerBackend(RECORDER, () => made, 0);
  for (const [kernelName, row] of Object.entries(kernels)) {
    if (getKernel(kernelName, RECORDER)) continue;
    registerKernel({
      kernelName,
      backendName: RECORDER,
      kernelFunc: ({ inputs, attrs }) => record(made, kernelName, row, inputs, attrs),
    });
  }
  return made;
}

function record(
  made: RecordingBackend,
  name: string,
  row: Kernel,
  inputs: object,
  attrs: unknown,
): TensorInfo | TensorInfo[] {
  const { graph } = made;
  if (!graph)
    throw new EngineError({
      what: `${name} was called outside a compiled function`,
      next: "Call it inside the function given to engine.jit.",
    });
  const named = inputs as Record<string, TensorInfo>;
  const list =
    row.inputs === "*"
      ? Object.values(named)
      : row.inputs
          .split(" ")
          .filter(Boolean)
          .map((key) => named[key] as TensorInfo);
  const values = list.map((info) => aligned(made.recorded(info.dataId), info, graph));
  const out = row.record(graph, values, (attrs ?? {}) as never);
  return Array.isArray(out) ? out.map((v) => made.put(v)) : made.put(out as Value);
}

/** tfjs reshapes some tensors (clones, variables) without a kernel: the tensor's own shape is the true one. */
function aligned(value: Value, info: TensorInfo, graph: Graph): Value {
  return graph.reshape(value, info.shape);
}
