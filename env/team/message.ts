import { z } from "zod";
import type { RoleName } from "./roles.ts";

export const intents = ["propose", "verify", "revise", "confirm", "abort"] as const;
export type Intent = (typeof intents)[number];

/** Names of fields; each is a tag inside the intent's tag. */
export const fieldNames = [
  ...["path", "constraints", "conditions", "summary", "steps", "answer"],
  ...["forward", "backward", "verdict", "step", "reason"],
] as const;

const text = z.string().trim().min(1);
/** Items one after the other, with `;` or line ends between them. */
const list = z
  .string()
  .transform((value) =>
    value
      .split(/[;\n]/u)
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  )
  .pipe(z.array(z.string()));
const items = list.pipe(z.array(z.string()).min(1));

const path = z.strictObject({ path: items, constraints: list.default([]) });
const payloads = {
  path,
  abort: z.strictObject({ reason: text }),
  conditions: z.strictObject({ conditions: items }),
  summary: z.strictObject({ summary: text }),
  draft: z.strictObject({ steps: text, answer: text }),
  verdict: z.strictObject({
    forward: text,
    backward: text,
    verdict: z
      .string()
      .trim()
      .pipe(z.enum(["pass", "fail"])),
    step: text.optional(),
    reason: text.optional(),
  }),
  answer: z.strictObject({ answer: text }),
};

export type Path = z.infer<typeof path>;
export type Draft = z.infer<typeof payloads.draft>;
export type Verdict = z.infer<typeof payloads.verdict>;
export type Payload = { [K in keyof typeof payloads]: z.infer<(typeof payloads)[K]> }[keyof typeof payloads];

/** Payload schema of each intent that a role may write. An analyst asked to compress writes a summary. */
export const payloadSchemas: Readonly<
  Record<RoleName, Readonly<Partial<Record<Intent, z.ZodType<Payload, unknown>>>>>
> = {
  planner: { propose: payloads.path, revise: payloads.path, abort: payloads.abort },
  analyst: { propose: z.union([payloads.conditions, payloads.summary]) },
  drafter: { propose: payloads.draft },
  verifier: { verify: payloads.verdict },
  summarizer: { confirm: payloads.answer },
};

/** One message of the protocol. */
export interface Message {
  /** The question's id. */
  readonly task: string;
  readonly role: RoleName;
  readonly intent: Intent;
  readonly payload: Payload;
}

/** Why a text is no message. */
export type Violation = "noMessage" | "unclosed" | "illegalIntent" | "badPayload" | "severalMessages";

export type Reading =
  | {
      readonly message: Message /** Nothing but white space stands around the message. */;
      readonly clean: boolean;
    }
  | { readonly violation: Violation; readonly detail: string; readonly intent?: Intent };

/**
 * Reads what a role wrote. A text with a violation holds no message at all: an unreadable verdict approves nothing.
 * @param allowed intents that are legal now, of those that the role may write at all
 */
export function readMessage(
  task: string,
  role: RoleName,
  written: string,
  allowed: readonly Intent[] = intents,
): Reading {
  const found = intents
    .flatMap((intent) => occurrences(written, `<${intent}>`).map((at) => ({ intent, at })))
    .sort((a, b) => a.at - b.at);
  const [first, second] = found;
  if (!first) return { violation: "noMessage", detail: "there is no message" };
  const { intent, at } = first;
  const from = at + intent.length + 2;
  const to = written.indexOf(`</${intent}>`, from);
  if (to < 0) return { violation: "unclosed", detail: `<${intent}> is not closed`, intent };
  if (second) return { violation: "severalMessages", detail: "there is more than one message", intent };
  const schema = payloadSchemas[role][intent];
  if (!schema || !allowed.includes(intent))
    return { violation: "illegalIntent", detail: `the ${role} may not ${intent} now`, intent };
  const fields = readFields(written.slice(from, to));
  const parsed = "detail" in fields ? undefined : schema.safeParse(fields.values);
  if (!parsed?.success) {
    const issue = parsed?.error.issues[0];
    const detail =
      "detail" in fields ? fields.detail : `${issue?.path.join(".") || intent}: ${issue?.message}`;
    return { violation: "badPayload", detail, intent };
  }
  const around = written.slice(0, at) + written.slice(to + intent.length + 3);
  return { message: { task, role, intent, payload: parsed.data }, clean: around.trim() === "" };
}

type Fields = { readonly values: Readonly<Record<string, string>> } | { readonly detail: string };

/** Fields one after the other, with white space alone between them; none twice, none inside another. */
function readFields(body: string): Fields {
  const values: Record<string, string> = {};
  let rest = body.trimStart();
  while (rest !== "") {
    const name = fieldNames.find((each) => rest.startsWith(`<${each}>`));
    if (name === undefined) return { detail: `no field begins at \`${rest.slice(0, 20)}\`` };
    const to = rest.indexOf(`</${name}>`);
    if (to < 0) return { detail: `<${name}> is not closed` };
    if (name in values) return { detail: `<${name}> is there twice` };
    const value = rest.slice(name.length + 2, to);
    if (fieldNames.some((each) => value.includes(`<${each}>`))) return { detail: `a field inside <${name}>` };
    values[name] = value;
    rest = rest.slice(to + name.length + 3).trimStart();
  }
  return { values };
}

function occurrences(text: string, part: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found.push(at);
  return found;
}

/** A message in the form that roles write. `readMessage` reads it back. */
export function writeMessage(
  intent: Intent,
  payload: Readonly<Record<string, string | readonly string[] | undefined>>,
): string {
  const fields = Object.entries(payload).flatMap(([name, value]) => {
    const written = typeof value === "string" || value === undefined ? value : value.join(" ; ");
    return written === undefined || written === "" ? [] : [`<${name}> ${written} </${name}>`];
  });
  return `<${intent}> ${fields.join(" ")} </${intent}>`;
}
