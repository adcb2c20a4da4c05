import { z } from "zod";

export interface BackendRow {
  /** ONNX Runtime execution providers, in order of preference; empty when tfjs itself computes. */
  readonly providers: readonly string[];
  readonly about: string;
}

/** Where tensors are computed: one row per `engine.backend`. */
export const backends = {
  cpu: { providers: ["cpu"], about: "ONNX Runtime on the processor" },
  webgpu: {
    providers: ["webgpu", "cpu"],
    about: "ONNX Runtime on any GPU, through Vulkan, Metal or Direct3D 12",
  },
  cuda: {
    providers: ["cuda", "cpu"],
    about: "ONNX Runtime on an NVIDIA GPU (needs its CUDA provider library)",
  },
  tensorflow: { providers: [], about: "TensorFlow's own kernels, eagerly (npm run install:tensorflow)" },
} as const satisfies Record<string, BackendRow>;

export type BackendName = keyof typeof backends;

export const engineConfig = z.strictObject({
  backend: z
    .enum(Object.keys(backends) as [BackendName, ...BackendName[]])
    .default("cpu")
    .describe("Where tensors are computed: cpu, webgpu, cuda, or tensorflow (eager, optional install)."),
  threads: z
    .int()
    .min(0)
    .max(1024)
    .default(0)
    .describe(
      "Threads per operation on the processor; 0 is every core. Results are reproducible for one number.",
    ),
  maxSessions: z
    .int()
    .min(1)
    .max(1024)
    .default(128)
    .describe(
      "Compiled programs kept, one per function and input shape; the least recently used goes first.",
    ),
  sessionMegabytes: z
    .int()
    .min(1)
    .default(4096)
    .describe(
      "Working memory that compiled programs may keep together, MB, estimated; the largest goes first.",
    ),
  keepMemory: z
    .boolean()
    .default(true)
    .describe(
      "Let every compiled program keep its working memory between calls: faster for small models; false for large ones, whose programs would hold gigabytes each.",
    ),
  spin: z
    .boolean()
    .default(false)
    .describe(
      "Let idle threads wait in a busy loop: faster alone on a machine, slower when cores are shared.",
    ),
});

export type EngineConfig = z.infer<typeof engineConfig>;
