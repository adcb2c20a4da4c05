import { z } from "zod";
import { readServerUrl } from "./server-url.ts";

const rootOf = (text: string) => readServerUrl(text)?.root ?? text;
const milliseconds = z.int().min(0);

/** Section `endpoint`: the inference servers that sample for the policy. */
export const endpointConfig = z.strictObject({
  servers: z
    .array(
      z
        .string()
        .refine((text) => readServerUrl(text) !== undefined, "not the address of a server: http://host:port"),
    )
    .min(1, "name at least one server, e.g. http://127.0.0.1:8000")
    .refine((all) => new Set(all.map(rootOf)).size === all.length, "a server is named twice")
    .describe("Addresses of the servers, with or without /v1. All serve the same base model."),
  driver: z
    .enum(["vllm", "sglang", "llamacpp", "auto"])
    .default("vllm")
    .describe("Make of the servers. llamacpp: evaluation only. auto: each server is asked what it is."),
  model: z
    .string()
    .min(1)
    .optional()
    .describe("Name of the served base model. Default: the only one that the server lists."),
  apiKeyEnv: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_]*$/u,
      "the name of an environment variable that holds the key, never the key",
    )
    .optional()
    .describe("Name of the environment variable that holds the servers' key. Default: no key is sent."),
  adapterDir: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Folder for published adapters, by a path that the servers see too; each run makes one of its own inside. Default: adapters/ in the run folder.",
    ),
  adapterSlots: z
    .int()
    .min(1)
    .optional()
    .describe(
      "Adapters that a server holds at a time (vLLM: --max-loras). Checked against roles × (staleness + 2).",
    ),
  maxInFlight: z.int().min(1).default(128).describe("Most requests at a time on one server."),
  attempts: z.int().min(1).default(6).describe("Most attempts of one request; each with the same seed."),
  retryShare: z
    .number()
    .min(0)
    .max(10)
    .default(0.5)
    .describe("Retries that all requests together may make, as a share of their number (10 more at first)."),
  retryDelayMs: milliseconds
    .default(250)
    .describe("Pause before the first retry of a request in milliseconds; doubled with each, 30 s at most."),
  requestTimeoutMs: milliseconds
    .default(600_000)
    .describe("Longest one attempt may take in milliseconds, then it is made elsewhere; 0 is no limit."),
  turnTimeoutMs: milliseconds
    .default(1_800_000)
    .describe(
      "Longest a turn may take over all its attempts, waiting for room included, in milliseconds; 0 is no limit.",
    ),
  loadTimeoutMs: milliseconds
    .min(1)
    .default(120_000)
    .describe("Longest a server may take to see and load a published adapter, in milliseconds."),
  keepFolders: z
    .int()
    .min(0)
    .default(1)
    .describe("Folders of unloaded adapters that stay on disk; checkpoints have the same weights."),
});

export type EndpointConfig = z.infer<typeof endpointConfig>;
