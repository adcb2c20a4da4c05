import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The flag that the `forager` command starts Node with (scripts/main.ts). */
const asForager = ["--max-semi-space-size=64"];

/** Runs a script of this folder in a process of its own, so that nothing warms it. @returns its last line, as JSON */
export function inOwnProcess<T>(
  script: string,
  args: readonly string[],
  nodeArgs: readonly string[] = [],
): T {
  const argv = [...process.execArgv, ...asForager, ...nodeArgs, pathOf(script), ...args];
  return lastLine(process.execPath, argv);
}

/** @throws Error with the end of what the program said, when it fails */
export function lastLine<T>(program: string, argv: readonly string[]): T {
  const { status, stdout, stderr, error } = spawnSync(program, argv, { encoding: "utf8" });
  if (status !== 0) throw new Error(error?.message ?? stderr.slice(-800));
  return JSON.parse(stdout.trim().split("\n").at(-1) as string) as T;
}

/** A stub server of the workload (bench/stub.ts) in another process; its CPU is not the client's. */
export async function startStubProcess(latencyMs = 0): Promise<{ url: string; close(): Promise<void> }> {
  const argv = [...process.execArgv, pathOf("stub.ts"), String(latencyMs)];
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = await Promise.race([firstLine(child), ended.then(() => undefined)]);
  if (url === undefined) throw new Error("the stub server did not start");
  return {
    url,
    close() {
      child.stdin?.end();
      return ended;
    },
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<string | undefined> {
  if (stdout === null) return undefined;
  for await (const line of createInterface({ input: stdout })) return line;
  return undefined;
}

const pathOf = (script: string) => fileURLToPath(new URL(script, import.meta.url));
