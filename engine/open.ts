import type { Tensor } from "@tensorflow/tfjs-core";
import { type InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { ConfigError, EngineError } from "../core/errors.ts";
import type { Arr, Dtype, Tree } from "./array.ts";
import { backends, type EngineConfig, engineConfig } from "./config.ts";
import type { Engine, Jitted } from "./engine.ts";
import { openSession, ProgramCache } from "./session.ts";
import { sizeOf } from "./shapes.ts";
import { openTensorflow } from "./tensorflow.ts";
import { type Traced, trace } from "./trace.ts";
import { isArr, leavesOf, mapTree, signatureOf } from "./tree.ts";

/** A traced function with its session. */
interface Compiled extends Traced {
  readonly session: InferenceSession;
}

const isIndex = (x: unknown): x is number => typeof x === "number";

/**
 * Opens a tensor engine; missing settings take their defaults.
 * Throws ConfigError when the backend cannot be used on this machine.
 */
export async function openEngine(settings: Partial<EngineConfig> = {}): Promise<Engine> {
  const config = engineConfig.parse(settings);
  if (config.backend === "tensorflow") return openTensorflow();
  const engine = new GraphEngine(config);
  await engine.probe();
  return engine;
}

class GraphEngine implements Engine {
  readonly backend: string;
  private readonly config: EngineConfig;
  private readonly cache: ProgramCache<Compiled>;
  private functions = 0;
  private compiles = 0;
  private runs = 0;
  private closed = false;

  constructor(config: EngineConfig) {
    this.backend = config.backend;
    this.config = config;
    const bounds = {
      programs: config.maxSessions,
      bytes: config.sessionMegabytes * 1e6,
      // ONNX Runtime's arena holds on to what a run once needed.
      bytesOf: ({ program }: Compiled) =>
        program.bytes.length + (config.keepMemory ? program.workingBytes : 0),
    };
    this.cache = new ProgramCache(bounds, ({ session }) => session.release());
  }

  get stats() {
    return { compiles: this.compiles, runs: this.runs, sessions: this.cache.size };
  }

  jit<F extends (...inputs: never[]) => Tree<Tensor>>(name: string, fn: F): Jitted<F> {
    const id = this.functions++;
    const compiled = async (...inputs: readonly Tree<Arr>[]): Promise<Tree<Arr>> => {
      this.mustBeOpen(name);
      const leaves = leavesOf(inputs, isArr);
      for (const [i, leaf] of leaves.entries()) checkLeaf(name, leaf, i);
      const key = `${id}(${inputs.map(signatureOf).join(";")})`;
      const lease = await this.cache.lease(key, () => this.compile(name, fn, inputs));
      try {
        return await this.run(name, lease.program, leaves);
      } finally {
        lease.done();
      }
    };
    return compiled as Jitted<F>;
  }

  /** Compiles and runs x + x, so that a backend that cannot work fails here. */
  async probe(): Promise<void> {
    const { backend } = this.config;
    try {
      const { bytes } = probeProgram();
      const session = await this.open(bytes);
      await session.run({ i0: new OrtTensor("float32", Float32Array.of(1), [1]) });
      await session.release();
    } catch (error) {
      throw new ConfigError({
        what: `the tensor engine cannot start on ${backend}`,
        where: "engine.backend",
        got: reason(error),
        expected: backends[backend].about,
        next:
          backend === "cpu"
            ? "Reinstall onnxruntime-node for this platform."
            : "Use `engine.backend: cpu`, or install the device's driver.",
        cause: error,
      });
    }
  }

  async dispose(): Promise<void> {
    this.closed = true;
    await this.cache.clear();
  }

  private async compile(
    name: string,
    fn: (...inputs: never[]) => Tree<Tensor>,
    inputs: readonly Tree<Arr>[],
  ): Promise<Compiled> {
    const traced = trace(name, fn, inputs);
    this.compiles++;
    try {
      return { ...traced, session: await this.open(traced.program.bytes) };
    } catch (error) {
      throw failure(`${name} does not compile`, error);
    }
  }

  private async run(
    name: string,
    { program, result, session }: Compiled,
    leaves: readonly Arr[],
  ): Promise<Tree<Arr>> {
    const feeds: Record<string, OrtTensor> = {};
    for (const i of program.inputs) feeds[`i${i}`] = feed(leaves[i] as Arr);
    this.runs++;
    const outputs = await session.run(feeds).catch((error: unknown) => {
      throw failure(`${name} failed while running`, error);
    });
    return mapTree(result, isIndex, (k): Arr => {
      const value = program.outputs[k];
      if (!value) throw new EngineError({ what: `${name} has no output ${k}` });
      const { data } = outputs[`o${k}`] as OrtTensor;
      return { shape: value.shape, dtype: value.dtype as Dtype, data: data as Float32Array };
    });
  }

  private open(bytes: Uint8Array): Promise<InferenceSession> {
    const { backend, ...options } = this.config;
    return openSession(bytes, { row: backends[backend], ...options });
  }

  private mustBeOpen(name: string): void {
    if (this.closed) throw new EngineError({ what: `${name} was called after the engine was disposed` });
  }
}

function feed({ dtype, data, shape }: Arr): OrtTensor {
  if (dtype === "float32") return new OrtTensor("float32", data as Float32Array, shape);
  if (dtype === "int32") return new OrtTensor("int32", data as Int32Array, shape);
  return new OrtTensor("bool", data as Uint8Array, shape);
}

const arrays = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };

function checkLeaf(name: string, { shape, dtype, data }: Arr, i: number): void {
  if (data.length === sizeOf(shape) && data instanceof arrays[dtype]) return;
  throw new EngineError({
    what: `input ${i} of ${name} does not hold what its shape says`,
    got: `${data.length} numbers in ${data.constructor.name}`,
    expected: `${dtype} [${shape}]`,
  });
}

/** ONNX Runtime's own sentence, without its source line. */
function reason(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return line.replace(/^\/onnxruntime_src\S+ .* was false\. /, "");
}

function failure(what: string, cause: unknown): EngineError {
  return new EngineError({ what, got: cause instanceof Error ? cause.message : String(cause), cause });
}

function probeProgram() {
  const one: Arr = { shape: [1], dtype: "float32", data: Float32Array.of(1) };
  return trace("probe", (x: Tensor) => x.clone(), [one]).program;
}
