import { expect, test } from "vitest";
import { Report } from "./report.ts";
import { checkJudge } from "./vllm-judge.ts";

// A vLLM or another server that keeps to JSON schemas, and the name of a chat model there.
const { FORAGER_VLLM_URL: url = "", FORAGER_VLLM_MODEL: model = "base" } = process.env;

test.skipIf(url === "")(
  "the judge against a real model (set FORAGER_VLLM_URL to a server, FORAGER_VLLM_MODEL to a model there)",
  { timeout: 600_000 },
  async () => {
    const report = new Report();
    await checkJudge(url, model, report);
    expect(report.failed).toBe(0);
    expect(report.passed).toBe(8);
  },
);
