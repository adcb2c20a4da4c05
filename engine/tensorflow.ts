import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBackend, type GradConfig, removeBackend } from "@tensorflow/tfjs-core";
import { ConfigError } from "../core/errors.ts";
import { EagerEngine, onBackend } from "./eager.ts";
import type { Engine } from "./engine.ts";
import { currentRules, registerGradients, withRules } from "./gradients/register.ts";

/** The folder that `npm run install:tensorflow` fills, beside the user's node_modules. */
export const TENSORFLOW_FOLDER = ".tensorflow";
const packages = ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node"];

/**
 * Opens the eager engine on TensorFlow's own kernels. Gradients follow the rules that the package brings (tfjs' own
 * where it has one), so that it is a second opinion on ours. Throws ConfigError when it is not installed.
 */
export function openTensorflow(folders: readonly string[] = placesToLook()): Engine {
  rules ??= load(folders);
  const own = rules;
  return new EagerEngine("tensorflow", (body) => onBackend("tensorflow", () => withRules(own, body)));
}

let rules: GradConfig[] | undefined;

function load(folders: readonly string[]): GradConfig[] {
  registerGradients();
  // TensorFlow prints start-up lines at every level below this one.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "3";
  shimUtil();
  const found = findTensorflow(folders);
  if (!found)
    throw new ConfigError({
      what: "TensorFlow is not installed",
      where: "engine.backend",
      got: "tensorflow",
      expected: packages.join(" or "),
      next: "Run `npm run install:tensorflow -- cpu` (or gpu), or use `engine.backend: cpu`.",
    });
  try {
    const brought = withRules([], () => {
      createRequire(found.from)(found.name);
      return currentRules();
    });
    const backend = findBackend("tensorflow") as { isUsingGpuDevice?: boolean } | null;
    if (!backend) throw new Error("the package loaded, but registered no backend");
    if (found.name.endsWith("-gpu") && !backend.isUsingGpuDevice)
      process.emitWarning("TensorFlow found no GPU and computes on the processor.", "ForagerWarning");
    return brought;
  } catch (error) {
    removeBackend("tensorflow");
    throw new ConfigError({
      what: `${found.name} does not load`,
      where: "engine.backend",
      got: (error as Error).message.split("\n")[0] ?? "",
      next: "Install it again: `npm run install:tensorflow -- cpu` (or gpu).",
      cause: error,
    });
  }
}

/** The first of the packages that can be resolved from one of `folders`. */
export function findTensorflow(folders: readonly string[]): { from: string; name: string } | undefined {
  for (const folder of folders)
    for (const name of packages) {
      const from = join(folder, "package.json");
      try {
        createRequire(from).resolve(name);
        return { from, name };
      } catch {
        // Not there: the next place.
      }
    }
  return undefined;
}

/** The installer's folder here or above this file, then ordinary dependencies of the user and of this package. */
function placesToLook(): string[] {
  const here = dirname(fileURLToPath(import.meta.url));
  const made = [process.cwd(), ...parents(here)].map((root) => join(root, TENSORFLOW_FOLDER));
  return [...made.filter((folder) => existsSync(folder)), process.cwd(), here];
}

function parents(folder: string): string[] {
  const up = dirname(folder);
  return up === folder ? [folder] : [folder, ...parents(up)];
}

/** tfjs-node calls two helpers that Node 23 took out of util. */
function shimUtil(): void {
  const util = createRequire(import.meta.url)("node:util") as Record<string, unknown>;
  util.isNullOrUndefined ??= (x: unknown) => x === null || x === undefined;
  util.isArray ??= Array.isArray;
}
