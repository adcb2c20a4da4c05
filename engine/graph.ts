import { EngineError } from "../core/errors.ts";
import type { Dtype } from "./array.ts";
import { broadcast, type Shape, sameShape, sizeOf } from "./shapes.ts";

/** What a value inside a graph may hold; int64 is only for ONNX's own shape and index inputs, float64 for sums rounded once. */
export type GraphDtype = Dtype | "int64" | "float64";
export type Bytes = Float32Array | Int32Array | Uint8Array | BigInt64Array;

/** An ONNX attribute: integers, lists of integers and strings as they are, floats wrapped. */
export type Attribute = number | readonly number[] | string | { readonly float: number };

type Source =
  | { readonly kind: "input"; readonly index: number; readonly graph: Graph }
  | { readonly kind: "constant"; readonly data: Bytes }
  | { readonly kind: "fill"; readonly value: number }
  | { readonly kind: "node"; readonly node: Node; readonly graph: Graph };

/** A tensor that has no numbers yet: where it comes from, its shape and dtype. */
export interface Value {
  readonly id: number;
  readonly shape: Shape;
  readonly dtype: GraphDtype;
  readonly source: Source;
  /** The smaller value this one repeats along axes of length 1, so that consumers may broadcast instead. */
  readonly repeats?: Value;
}

export interface Node {
  readonly op: string;
  readonly domain: string;
  /** undefined is an optional ONNX input left out. */
  readonly inputs: readonly (Value | undefined)[];
  readonly outputs: Value[];
  readonly attrs: Readonly<Record<string, Attribute>>;
}

export interface OpSpec {
  readonly shape: Shape;
  readonly dtype: GraphDtype;
  readonly attrs?: Readonly<Record<string, Attribute>>;
  readonly domain?: string;
}

let nextId = 0;
const shared = new Map<string, Value>();
const SHARED_ELEMENTS = 64;

/** A value with its numbers. Equal small constants are one value; uniform big ones keep a single number. */
export function constant(data: Bytes, shape: Shape, dtype: GraphDtype): Value {
  if (data.length > 1 && dtype !== "int64" && isUniform(data)) return fill(Number(data[0]), shape, dtype);
  if (data.length > SHARED_ELEMENTS)
    return { id: nextId++, shape, dtype, source: { kind: "constant", data } };
  return share(`${dtype}[${shape}]${Array.from(data, spell)}`, () => ({
    id: nextId++,
    shape,
    dtype,
    source: { kind: "constant", data: data.slice() },
  }));
}

/** `shape` filled with one number. */
export function fill(value: number, shape: Shape, dtype: GraphDtype): Value {
  if (sizeOf(shape) === 1) return constant(arrayOf(dtype, [value]), shape, dtype);
  return share(`${dtype}[${shape}]=${spell(value)}`, () => ({
    id: nextId++,
    shape,
    dtype,
    source: { kind: "fill", value },
  }));
}

export const scalar = (value: number, dtype: GraphDtype = "float32"): Value => fill(value, [], dtype);
/** An int64 vector, the form in which ONNX wants shapes and axes. */
export const int64s = (values: readonly number[]): Value =>
  constant(BigInt64Array.from(values, BigInt), [values.length], "int64");

/** The one number that a uniform value holds everywhere, else undefined. */
export function uniform(value: Value): number | undefined {
  if (value.source.kind === "fill") return value.source.value;
  if (value.source.kind === "constant" && value.source.data.length === 1) return Number(value.source.data[0]);
  return undefined;
}

/** One function's trace: nodes in the order they were recorded; equal nodes are recorded once. */
export class Graph {
  readonly inputs: Value[] = [];
  readonly nodes: Node[] = [];
  private readonly known = new Map<string, Node>();

  input(shape: Shape, dtype: Dtype): Value {
    const value: Value = {
      id: nextId++,
      shape,
      dtype,
      source: { kind: "input", index: this.inputs.length, graph: this },
    };
    this.inputs.push(value);
    return value;
  }

  /** Records one ONNX node with one output. */
  op(op: string, inputs: readonly (Value | undefined)[], spec: OpSpec): Value {
    return this.ops(op, inputs, [spec], spec)[0] as Value;
  }

  /** Records one ONNX node with several outputs; attributes and domain come from `node`. */
  ops(
    op: string,
    inputs: readonly (Value | undefined)[],
    outputs: readonly { shape: Shape; dtype: GraphDtype }[],
    node: Pick<OpSpec, "attrs" | "domain"> = {},
  ): readonly Value[] {
    const { attrs = {}, domain = "" } = node;
    const full = inputs.map((value) => value && this.numbers(value));
    const key = `${domain}.${op}(${full.map((v) => v?.id)})${JSON.stringify(attrs)}${outputs.map((o) => o.dtype)}`;
    const found = this.known.get(key);
    if (found) return found.outputs;
    const made: Node = { op, domain, inputs: full, attrs, outputs: [] };
    for (const { shape, dtype } of outputs)
      made.outputs.push({ id: nextId++, shape, dtype, source: { kind: "node", node: made, graph: this } });
    this.known.set(key, made);
    this.nodes.push(made);
    return made.outputs;
  }

  /** `value` repeated to `shape`; remembers the small one. */
  expand(value: Value, shape: Shape): Value {
    if (sameShape(value.shape, shape)) return value;
    const number = uniform(value);
    if (number !== undefined) return fill(number, shape, value.dtype);
    const wide = this.op("Expand", [value, int64s(shape)], { shape, dtype: value.dtype });
    return Object.assign(wide, { repeats: value.repeats ?? value });
  }

  reshape(value: Value, shape: Shape): Value {
    if (sameShape(value.shape, shape)) return value;
    const number = uniform(value);
    if (number !== undefined) return fill(number, shape, value.dtype);
    // A chain of reshapes is one reshape.
    const { source } = value;
    const from =
      source.kind === "node" && source.node.op === "Reshape" ? (source.node.inputs[0] as Value) : value;
    if (sameShape(from.shape, shape)) return from;
    return this.op("Reshape", [from, int64s(shape)], { shape, dtype: value.dtype, attrs: { allowzero: 1 } });
  }

  cast(value: Value, dtype: GraphDtype): Value {
    if (value.dtype === dtype) return value;
    const number = uniform(value);
    if (number !== undefined && Number.isFinite(number) && dtype !== "int64" && dtype !== "float64")
      return fill(castNumber(number, dtype), value.shape, dtype);
    return this.op("Cast", [value], { shape: value.shape, dtype, attrs: { to: onnxType[dtype] } });
  }

  /**
   * Operands of a broadcasting operator, each replaced by the smaller value it repeats
   * wherever the remaining operands still give `shape`.
   */
  slim(operands: readonly Value[], shape: Shape): Value[] {
    const out = [...operands];
    out.forEach((value, i) => {
      const small = value.source.kind === "fill" ? scalar(value.source.value, value.dtype) : value.repeats;
      if (!small) return;
      const trial = broadcast(...out.map((v, j) => (j === i ? small.shape : v.shape)));
      if (trial && sameShape(trial, shape)) out[i] = small;
    });
    return out;
  }

  /** The value as a node may read it: of this graph, with big uniform values as an Expand. */
  private numbers(value: Value): Value {
    const { source } = value;
    if ((source.kind === "input" || source.kind === "node") && source.graph !== this)
      throw new EngineError({
        what: "a tensor of another trace is used here",
        expected: "inputs of this function and constants",
        next: "Pass it as an input of the compiled function.",
      });
    if (source.kind !== "fill") return value;
    return this.op("Expand", [scalar(source.value, value.dtype), int64s(value.shape)], value);
  }
}

export const onnxType: Readonly<Record<GraphDtype, number>> = {
  float32: 1,
  int32: 6,
  int64: 7,
  bool: 9,
  float64: 11,
};

export function arrayOf(dtype: GraphDtype, values: readonly number[]): Bytes {
  if (dtype === "float32") return Float32Array.from(values);
  if (dtype === "int32") return Int32Array.from(values);
  return dtype === "bool" ? Uint8Array.from(values) : BigInt64Array.from(values, BigInt);
}

function castNumber(value: number, dtype: GraphDtype): number {
  if (dtype === "float32") return value;
  return dtype === "bool" ? Number(value !== 0) : Math.trunc(value);
}

const spell = (value: number | bigint): string => (Object.is(value, -0) ? "-0" : String(value));

function share(key: string, make: () => Value): Value {
  let value = shared.get(key);
  if (!value) {
    if (shared.size > 10_000) shared.clear();
    value = make();
    shared.set(key, value);
  }
  return value;
}

function isUniform(data: Exclude<Bytes, never>): boolean {
  const first = data[0];
  for (let i = 1; i < data.length; i++) if (!Object.is(data[i], first)) return false;
  return true;
}
