import { EndpointError } from "../rollout/endpoint/error.ts";
import { malformed } from "../rollout/endpoint/failure.ts";
import type { Verdict } from "./judge-cache.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { verdictSchema } from "./judge-prompt.ts";

/** What a judge's server replied with. */
export interface JudgeReply {
  readonly content?: string | null | undefined;
  readonly refusal?: string | null | undefined;
  /** It reached the limit of its tokens. */
  readonly cut: boolean;
}

type Rules = Pick<JudgeConfig, "marks" | "maxTokens" | "temperature">;

/**
 * The whole text is one JSON object of the form asked for; anything else is no verdict.
 * @throws EndpointError saying which: cut off, refused, or not of the form
 */
export function verdictOf({ content, refusal, cut }: JudgeReply, rules: Rules, where: string): Verdict {
  const text = content ?? "";
  const parsed = verdictSchema(rules.marks).safeParse(jsonOf(text));
  if (parsed.success) return { value: parsed.data.mark / rules.marks, reason: parsed.data.reason };
  if (cut) throw cutOff(text, rules, where);
  throw malformed(where, `the judge gave no verdict${text === "" && refusal ? ": it refused" : ""}`, {
    got: shown(text === "" ? (refusal ?? "") : text),
    expected: '{"reason": …, "mark": …}',
    next: "Name a server that keeps to response_format: json_schema as reward.judge.url, or another model.",
  });
}

/** Greedy decoding is cut at the same place each time: only a sampled reply is worth another attempt. */
function cutOff(text: string, { maxTokens, temperature }: Rules, where: string): EndpointError {
  return new EndpointError(temperature === 0 ? "refused" : "malformed", {
    what: `the judge gave no verdict within ${maxTokens} tokens`,
    where,
    got: shown(text),
    next: "Raise reward.judge.maxTokens; a model that thinks first needs more.",
  });
}

const shown = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A server that can hold nobody to a schema, in the words of vLLM, SGLang, llama.cpp, OpenAI and our own. */
const noSchema = /response_format|json_schema|structured|guided|grammar/iu;

/** Servers whose strict schemas know no lengths name what they do not take; one that echoes the schema does not mean it. */
export const refusesLength = (error: unknown): boolean =>
  error instanceof EndpointError &&
  error.status !== undefined &&
  error.status < 500 &&
  /max_?length/iu.test(error.complaint.got?.split("{")[0] ?? "");

const keyNext = "Put the judge's key into an environment variable and name that as reward.judge.apiKeyEnv.";

/** The same failure with what to do about it in a judge's terms. What is none of a server's comes back as it is. */
export function judgeFailure(error: unknown): unknown {
  if (!(error instanceof EndpointError)) return error;
  const { kind, complaint, status } = error;
  if (kind === "missingModel")
    // A judge is no adapter that a server may still be loading.
    return again("refused", "Name a model that the server has as reward.judge.model.");
  if (status === 401 || status === 403) return again(kind, keyNext);
  if (status === 404) return again(kind, "Check reward.judge.url: is it a chat-completions API?");
  if (kind === "refused" && noSchema.test(complaint.got ?? ""))
    return again(
      kind,
      "This server cannot hold a model to a JSON schema, which a judge needs: name one that can, such as vLLM, SGLang, llama.cpp or OpenAI, as reward.judge.url.",
    );
  if (kind === "connection") return again(kind, "Is the server of reward.judge.url running?");
  return error;

  function again(as: EndpointError["kind"], next: string): EndpointError {
    return new EndpointError(as, { ...complaint, next, cause: error }, status);
  }
}
