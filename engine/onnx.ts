import onnxProto from "onnx-proto";
import type { Attribute, Bytes, Graph, Node, Value } from "./graph.ts";
import { onnxType, scalar } from "./graph.ts";
import { workingBytes } from "./memory.ts";
import { sizeOf } from "./shapes.ts";

const { onnx } = onnxProto;
const ATTRIBUTE = { float: 1, int: 2, string: 3, ints: 7 };
/** IR 8 and opset 18 are what ONNX Runtime 1.14 and later read; com.microsoft holds FusedMatMul. */
const IR_VERSION = 8;
const OPSETS = [
  { domain: "", version: 18 },
  { domain: "com.microsoft", version: 1 },
];

export interface Program {
  /** A serialised ONNX model. Its inputs are named i0, i1, … after `inputs`; its outputs o0, o1, … */
  readonly bytes: Uint8Array;
  /** Positions of the function's inputs that the outputs depend on. */
  readonly inputs: readonly number[];
  readonly outputs: readonly Value[];
  readonly nodes: number;
  /** What a run needs at its fullest, inputs aside; an estimate. */
  readonly workingBytes: number;
}

/** Writes the part of `graph` that `outputs` depend on as an ONNX model. */
export function encodeProgram(graph: Graph, outputs: readonly Value[]): Program {
  const nodes = liveNodes(graph, outputs);
  const names = new Map<Value, string>();
  const used: Value[] = [];
  const initializer: object[] = [];
  const nameOf = (value: Value | undefined): string => {
    if (!value) return "";
    const known = names.get(value);
    if (known !== undefined) return known;
    const { source } = value;
    const name = source.kind === "input" ? `i${source.index}` : `v${value.id}`;
    names.set(value, name);
    if (source.kind === "input") used.push(value);
    if (source.kind === "constant") initializer.push(tensorProto(name, value, source.data));
    return name;
  };
  // The first output that is a node's own result gets its name; the rest are copies.
  const copies: object[] = [];
  outputs.forEach((value, k) => {
    if (value.source.kind === "node" && !names.has(value)) names.set(value, `o${k}`);
    else if (value.source.kind === "fill") copies.push(expandFill(value, `o${k}`, initializer));
    else copies.push({ opType: "Identity", input: [nameOf(value)], output: [`o${k}`] });
  });
  const written = nodes.map((node) => nodeProto(node, nameOf));
  const model = onnx.ModelProto.create({
    irVersion: IR_VERSION,
    opsetImport: OPSETS,
    graph: {
      name: "forager",
      node: [...written, ...copies].map((node, i) => ({ ...node, name: `n${i}` })),
      initializer,
      input: used.map((value) => valueInfo(names.get(value) as string, value)),
      output: outputs.map((value, k) => valueInfo(`o${k}`, value)),
    },
  });
  return {
    bytes: onnx.ModelProto.encode(model).finish(),
    inputs: used.map((value) => (value.source.kind === "input" ? value.source.index : -1)),
    outputs,
    nodes: written.length,
    workingBytes: workingBytes(nodes, outputs),
  };
}

function liveNodes(graph: Graph, outputs: readonly Value[]): Node[] {
  const live = new Set<Node>();
  const mark = (value: Value | undefined) => {
    if (value?.source.kind === "node") live.add(value.source.node);
  };
  outputs.forEach(mark);
  // Nodes are recorded after everything they read, so one pass backwards reaches all of them.
  for (let i = graph.nodes.length - 1; i >= 0; i--) {
    const node = graph.nodes[i] as Node;
    if (live.has(node)) node.inputs.forEach(mark);
  }
  return graph.nodes.filter((node) => live.has(node));
}

function expandFill(value: Value, output: string, initializer: object[]): object {
  const { source } = value;
  const number = scalar(source.kind === "fill" ? source.value : 0, value.dtype);
  const [from, shape] = [`${output}_value`, `${output}_shape`];
  if (number.source.kind === "constant") initializer.push(tensorProto(from, number, number.source.data));
  initializer.push({
    name: shape,
    dataType: onnxType.int64,
    dims: [value.shape.length],
    rawData: rawBytes(BigInt64Array.from(value.shape, BigInt)),
  });
  return { opType: "Expand", input: [from, shape], output: [output] };
}

function nodeProto(node: Node, nameOf: (value: Value | undefined) => string): object {
  const attribute = Object.entries(node.attrs).map(([name, value]) => attributeProto(name, value));
  return {
    opType: node.op,
    domain: node.domain,
    input: node.inputs.map(nameOf),
    output: node.outputs.map(nameOf),
    attribute,
  };
}

function attributeProto(name: string, value: Attribute): object {
  if (typeof value === "number") return { name, type: ATTRIBUTE.int, i: value };
  if (typeof value === "string") return { name, type: ATTRIBUTE.string, s: Buffer.from(value) };
  if ("float" in value) return { name, type: ATTRIBUTE.float, f: value.float };
  return { name, type: ATTRIBUTE.ints, ints: value };
}

const tensorProto = (name: string, value: Value, data: Bytes): object => ({
  name,
  dataType: onnxType[value.dtype],
  dims: value.shape,
  rawData: rawBytes(data, sizeOf(value.shape)),
});

function rawBytes(data: Bytes, length = data.length): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, length * data.BYTES_PER_ELEMENT);
}

const valueInfo = (name: string, value: Value): object => ({
  name,
  type: {
    tensorType: {
      elemType: onnxType[value.dtype],
      shape: { dim: value.shape.map((dimValue) => ({ dimValue })) },
    },
  },
});
