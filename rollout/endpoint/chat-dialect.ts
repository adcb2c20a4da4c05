import type { ChatMessage } from "./chat-seat.ts";
import { EndpointError } from "./error.ts";

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly seed: number;
}

/** A field that some server does not take, what is done instead, and what people are told. */
interface Concession {
  readonly field: string;
  readonly apply: (body: Record<string, unknown>) => void;
  readonly notice: string;
}

const without = (field: string, notice: string): Concession => ({
  field,
  apply: (body) => delete body[field],
  notice,
});

const concessions: readonly Concession[] = [
  {
    field: "max_tokens",
    apply(body) {
      body.max_completion_tokens = body.max_tokens;
      delete body.max_tokens;
    },
    notice: "the limit of a turn is sent as max_completion_tokens",
  },
  without("stop", "it takes no stop strings: what it writes behind one is cut here"),
  without("seed", "it takes no seed: sampling does not repeat"),
  without("temperature", "it takes no temperature: it samples at its own"),
  without("top_p", "it takes no top_p: it samples with its own"),
  without("top_k", "it takes no top_k: it samples with its own"),
];

/** OpenAI's `stop` takes four. */
const mostStops = 4;

/** What one server of the many that call themselves OpenAI-compatible takes: learnt from what it refuses. */
export class ChatDialect {
  readonly #learnt = new Set<Concession>();
  readonly #onNotice: ((text: string) => void) | undefined;

  constructor(onNotice?: (text: string) => void) {
    this.#onNotice = onNotice;
  }

  /** Asks, and asks again without a field that the server names and does not support. */
  async ask<T>(request: ChatRequest, send: (body: Record<string, unknown>) => Promise<T>): Promise<T> {
    for (;;) {
      const known = this.#learnt.size;
      try {
        return await send(this.#body(request));
      } catch (error) {
        this.#learn(error);
        // Another request may have learnt it meanwhile.
        if (!isUnsupported(error) || this.#learnt.size === known) throw error;
      }
    }
  }

  #body({ model, messages, temperature, topP, topK, maxTokens, stop, seed }: ChatRequest) {
    const body: Record<string, unknown> = {
      model,
      messages,
      temperature,
      max_tokens: maxTokens,
      seed,
      ...(stop.length > 0 && { stop: stop.slice(0, mostStops) }),
      // Off is what no server needs to be told.
      ...(topP < 1 && { top_p: topP }),
      ...(topK > 0 && { top_k: topK }),
    };
    for (const { apply } of this.#learnt) apply(body);
    return body;
  }

  #learn(error: unknown): void {
    if (!isUnsupported(error)) return;
    const said = error.complaint.got ?? "";
    const next = concessions.find(
      (each) => !this.#learnt.has(each) && new RegExp(`\\b${each.field}\\b`, "u").test(said),
    );
    if (next === undefined) return;
    this.#learnt.add(next);
    this.#onNotice?.(next.notice);
  }
}

function isUnsupported(error: unknown): error is EndpointError {
  return (
    error instanceof EndpointError &&
    error.kind === "refused" &&
    /unsupported|not supported|does not support|unrecognized|unknown|extra (inputs|fields)/iu.test(
      error.message,
    )
  );
}
