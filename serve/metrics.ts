import type { Hono } from "hono";
import { type Api, finishReasons } from "./api-options.ts";

interface Metric {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  /** Values, each with labels of its own. */
  readonly values: (api: Api) => readonly { readonly labels?: string; readonly value: number }[];
}

/** vLLM's names, as far as they mean something here. */
const metrics: readonly Metric[] = [
  gauge("num_requests_running", "Number of requests in model execution batches.", (load) => load.running),
  gauge("num_requests_waiting", "Number of requests waiting to be processed.", (load) => load.waiting),
  gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", (load) => load.kvCacheUsage),
  counter("num_preemptions_total", "Cumulative number of preemptions.", (load) => load.preemptions),
  counter("prompt_tokens_total", "Number of prefill tokens processed.", (load) => load.promptTokens),
  counter(
    "generation_tokens_total",
    "Number of generation tokens processed.",
    (load) => load.generationTokens,
  ),
  {
    name: "vllm:request_success_total",
    type: "counter",
    help: "Count of successfully processed requests.",
    values: ({ finished }) =>
      finishReasons.map((reason) => ({
        labels: `,finished_reason="${reason}"`,
        value: finished[reason],
      })),
  },
];

type Load = ReturnType<Api["model"]["load"]>;

function gauge(name: string, help: string, of: (load: Load) => number): Metric {
  return single(name, "gauge", help, of);
}

function counter(name: string, help: string, of: (load: Load) => number): Metric {
  return single(name, "counter", help, of);
}

function single(name: string, type: Metric["type"], help: string, of: (load: Load) => number): Metric {
  return { name: `vllm:${name}`, type, help, values: (api) => [{ value: of(api.model.load()) }] };
}

/** GET /metrics in Prometheus' text format. */
export function metricsRoute(app: Hono, api: Api): void {
  app.get("/metrics", (c) => {
    const model = api.model.name.replace(/["\\\n]/g, "_");
    const lines = metrics.flatMap(({ name, type, help, values }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...values(api).map(
        ({ labels = "", value }) => `${name}{engine="0"${labels},model_name="${model}"} ${value}`,
      ),
    ]);
    return c.text(`${lines.join("\n")}\n`, 200, {
      "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
    });
  });
}
