import { type Graph, type GraphDtype, int64s, scalar, uniform, type Value } from "../graph.ts";
import { broadcast, type Shape, sameShape } from "../shapes.ts";
import { type Kernel, type KernelTable, kernel, refuse } from "./kernel.ts";

const float = (graph: Graph, x: Value): Value => graph.cast(x, "float32");
const same = (x: Value, dtype: GraphDtype = x.dtype) => ({ shape: x.shape, dtype });

function outShape(a: Value, b: Value): Shape {
  return (
    broadcast(a.shape, b.shape) ??
    refuse("shapes do not broadcast", `[${a.shape}] and [${b.shape}]`, "Reshape one of them.")
  );
}

/** a ∘ b with broadcasting; the smaller of two repeated operands is used. */
export function binary(graph: Graph, op: string, a: Value, b: Value, dtype?: GraphDtype): Value {
  const shape = outShape(a, b);
  const kind = a.dtype === b.dtype ? a.dtype : "float32";
  const arithmetic = dtype === undefined;
  if (arithmetic && kind === "bool")
    refuse(`${op} of two bool tensors`, "bool", "Cast to int32 or float32 first.");
  const operands = graph.slim([graph.cast(a, kind), graph.cast(b, kind)], shape);
  const [x, y] = operands as [Value, Value];
  return (
    (arithmetic ? neutral(graph, op, x, y, shape) : undefined) ??
    graph.op(op, [x, y], { shape, dtype: dtype ?? kind })
  );
}

/** x + 0, x − 0, x · 1, x / 1 are x: autodiff writes many of them. */
function neutral(graph: Graph, op: string, x: Value, y: Value, shape: Shape): Value | undefined {
  const left = { Add: 0, Mul: 1 }[op];
  const right = { Add: 0, Sub: 0, Mul: 1, Div: 1 }[op];
  if (right !== undefined && uniform(y) === right) return graph.expand(x, shape);
  if (left !== undefined && uniform(x) === left) return graph.expand(y, shape);
  return undefined;
}

const arithmetic = (op: string): Kernel => kernel("a b", (g, [a, b]) => binary(g, op, a, b));
const comparison = (op: string): Kernel => kernel("a b", (g, [a, b]) => binary(g, op, a, b, "bool"));
const logical = (op: string): Kernel =>
  kernel("a b", (g, [a, b]) => binary(g, op, g.cast(a, "bool"), g.cast(b, "bool"), "bool"));
/** Keeps int32 as it is. */
const unary = (op: string): Kernel => kernel("x", (g, [x]) => g.op(op, [x], same(x)));
const unaryFloat = (op: string): Kernel =>
  kernel("x", (g, [x]) => g.op(op, [float(g, x)], same(x, "float32")));
const test = (op: string): Kernel => kernel("x", (g, [x]) => g.op(op, [float(g, x)], same(x, "bool")));
const roundFloat = (op: string): Kernel =>
  kernel("x", (g, [x]) => (x.dtype === "float32" ? g.op(op, [x], same(x)) : x));

function select(g: Graph, condition: Value, t: Value, e: Value): Value {
  const dtype = t.dtype === e.dtype ? t.dtype : "float32";
  // tfjs lets a rank-1 condition choose whole rows.
  const rows = condition.shape.length === 1 && t.shape.length > 1;
  const mask = rows
    ? g.reshape(condition, [...condition.shape, ...t.shape.slice(1).map(() => 1)])
    : condition;
  const operands = g.slim([g.cast(mask, "bool"), g.cast(t, dtype), g.cast(e, dtype)], t.shape);
  return g.op("Where", operands, { shape: t.shape, dtype });
}

/** ⌊a / b⌋; ONNX truncates towards zero, so a remainder of the other sign takes one off. */
function floorDiv(g: Graph, a: Value, b: Value): Value {
  const quotient = binary(g, "Div", a, b);
  if (quotient.dtype === "float32") return g.op("Floor", [quotient], quotient);
  const remainder = binary(g, "Sub", a, binary(g, "Mul", quotient, b));
  const zero = scalar(0, "int32");
  const opposite = binary(
    g,
    "Less",
    binary(g, "Mul", g.op("Sign", [remainder], remainder), g.op("Sign", [b], b)),
    zero,
    "bool",
  );
  return binary(g, "Sub", quotient, g.cast(opposite, "int32"));
}

/** Sign of the divisor, as in tfjs and Python: a − b·⌊a / b⌋. */
const mod: Kernel = kernel("a b", (g, [a, b]) => binary(g, "Sub", a, binary(g, "Mul", b, floorDiv(g, a, b))));

export const elementwise: KernelTable = {
  Add: arithmetic("Add"),
  Sub: arithmetic("Sub"),
  Multiply: arithmetic("Mul"),
  RealDiv: kernel("a b", (g, [a, b]) => binary(g, "Div", float(g, a), float(g, b))),
  FloorDiv: kernel("a b", (g, [a, b]) => g.cast(floorDiv(g, a, b), "int32")),
  Mod: mod,
  Maximum: arithmetic("Max"),
  Minimum: arithmetic("Min"),
  Pow: kernel("a b", (g, [a, b]) =>
    uniform(b) === 2 && sameShape(outShape(a, b), a.shape) ? binary(g, "Mul", a, a) : binary(g, "Pow", a, b),
  ),
  SquaredDifference: kernel("a b", (g, [a, b]) => {
    const d = binary(g, "Sub", a, b);
    return binary(g, "Mul", d, d);
  }),
  AddN: kernel("*", (g, list) => list.slice(1).reduce((sum, x) => binary(g, "Add", sum, x), list[0])),
  Greater: comparison("Greater"),
  GreaterEqual: comparison("GreaterOrEqual"),
  Less: comparison("Less"),
  LessEqual: comparison("LessOrEqual"),
  Equal: comparison("Equal"),
  NotEqual: kernel("a b", (g, [a, b]) => {
    const equal = binary(g, "Equal", a, b, "bool");
    return g.op("Not", [equal], equal);
  }),
  LogicalAnd: logical("And"),
  LogicalOr: logical("Or"),
  LogicalNot: kernel("x", (g, [x]) => g.op("Not", [g.cast(x, "bool")], same(x, "bool"))),
  Abs: unary("Abs"),
  Neg: unary("Neg"),
  Sign: unary("Sign"),
  Square: kernel("x", (g, [x]) => g.op("Mul", [x, x], same(x))),
  Floor: roundFloat("Floor"),
  Ceil: roundFloat("Ceil"),
  Round: roundFloat("Round"),
  Exp: unaryFloat("Exp"),
  Log: unaryFloat("Log"),
  Sqrt: unaryFloat("Sqrt"),
  Reciprocal: unaryFloat("Reciprocal"),
  Sigmoid: unaryFloat("Sigmoid"),
  Softplus: unaryFloat("Softplus"),
  Tanh: unaryFloat("Tanh"),
  Sin: unaryFloat("Sin"),
  Cos: unaryFloat("Cos"),
  Tan: unaryFloat("Tan"),
  Asin: unaryFloat("Asin"),
  Acos: unaryFloat("Acos"),
  Atan: unaryFloat("Atan"),
  Sinh: unaryFloat("Sinh"),
  Cosh: unaryFloat("Cosh"),
  Asinh: unaryFloat("Asinh"),
  Acosh: unaryFloat("Acosh"),
  Atanh: unaryFloat("Atanh"),
  Erf: unaryFloat("Erf"),
  Relu: unary("Relu"),
  Elu: unaryFloat("Elu"),
  Selu: unaryFloat("Selu"),
  Rsqrt: kernel("x", (g, [x]) => {
    const root = g.op("Sqrt", [float(g, x)], same(x, "float32"));
    return g.op("Reciprocal", [root], root);
  }),
  Expm1: kernel("x", (g, [x]) => binary(g, "Sub", g.op("Exp", [float(g, x)], same(x, "float32")), scalar(1))),
  Log1p: kernel("x", (g, [x]) => g.op("Log", [binary(g, "Add", float(g, x), scalar(1))], same(x, "float32"))),
  LeakyRelu: kernel<{ alpha: number }>("x", (g, [x], { alpha }) =>
    g.op("LeakyRelu", [float(g, x)], { ...same(x, "float32"), attrs: { alpha: { float: alpha } } }),
  ),
  Prelu: kernel("x alpha", (g, [x, alpha]) => g.op("PRelu", [x, alpha], same(x))),
  Relu6: kernel("x", (g, [x]) => g.op("Clip", [x, scalar(0, x.dtype), scalar(6, x.dtype)], same(x))),
  ClipByValue: kernel<{ clipValueMin: number; clipValueMax: number }>("x", (g, [x], a) =>
    g.op("Clip", [x, scalar(a.clipValueMin, x.dtype), scalar(a.clipValueMax, x.dtype)], same(x)),
  ),
  /** 1 above zero, alpha at or below, NaN stays NaN. */
  Step: kernel<{ alpha: number }>("x", (g, [x], { alpha }) => {
    const above = binary(g, "Greater", x, scalar(0, x.dtype), "bool");
    const stepped = select(
      g,
      above,
      g.expand(scalar(1, x.dtype), x.shape),
      g.expand(scalar(alpha, x.dtype), x.shape),
    );
    return x.dtype === "float32" ? select(g, g.op("IsNaN", [x], same(x, "bool")), x, stepped) : stepped;
  }),
  IsNan: test("IsNaN"),
  IsInf: test("IsInf"),
  IsFinite: kernel("x", (g, [x]) => {
    const bad = binary(
      g,
      "Or",
      g.op("IsNaN", [float(g, x)], same(x, "bool")),
      g.op("IsInf", [float(g, x)], same(x, "bool")),
      "bool",
    );
    return g.op("Not", [bad], bad);
  }),
  Cast: kernel<{ dtype: string }>("x", (g, [x], { dtype }) => {
    if (dtype !== "float32" && dtype !== "int32" && dtype !== "bool")
      return refuse("cast to an unsupported dtype", dtype);
    return g.cast(x, dtype);
  }),
  Select: kernel("condition t e", (g, [condition, t, e]) => select(g, condition, t, e)),
  /** Our own: c + a·b rounded once. In float64 the product is exact, and the sum's own rounding does not show. */
  MulAdd: kernel("a b c", (g, [a, b, c]) => {
    const [x, y, z] = [a, b, c].map((value) => g.cast(value, "float64")) as [Value, Value, Value];
    return g.cast(binary(g, "Add", z, binary(g, "Mul", x, y)), "float32");
  }),
  Softmax: kernel<{ dim: number }>("logits", (g, [x], { dim }) =>
    g.op("Softmax", [float(g, x)], { ...same(x, "float32"), attrs: { axis: dim } }),
  ),
  LogSoftmax: kernel<{ axis: number }>("logits", (g, [x], { axis }) =>
    g.op("LogSoftmax", [float(g, x)], { ...same(x, "float32"), attrs: { axis } }),
  ),
  Cumsum: kernel<{ axis: number; exclusive: boolean; reverse: boolean }>("x", (g, [x], a) =>
    g.op("CumSum", [x, g.reshape(int64s([a.axis]), [])], {
      ...same(x),
      attrs: { exclusive: Number(a.exclusive), reverse: Number(a.reverse) },
    }),
  ),
};
