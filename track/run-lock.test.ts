import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockRun } from "./run-lock.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "forager-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("one at a time, and free again after release", () => {
  const lock = lockRun(folder);
  expect(() => lockRun(folder)).toThrow(
    `another process is at work in this run folder: got process ${process.pid}`,
  );
  lock.release();
  lock.release();
  expect(existsSync(join(folder, "run.pid"))).toBe(false);
  lockRun(folder).release();
  expect(readdirSync(folder)).toEqual(["run.lock"]);
});

test("a process that is killed leaves nothing in the way", async () => {
  const module = join(import.meta.dirname, "run-lock.ts");
  const holder = spawn(
    process.execPath,
    [
      ...["--import", "tsx", "--input-type=module", "-e"],
      `import { lockRun } from ${JSON.stringify(module)};
       lockRun(${JSON.stringify(folder)});
       console.log("held");
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(holder.stdout, "data");
  expect(() => lockRun(folder)).toThrow(`process ${holder.pid}`);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  lockRun(folder).release();
});
