import { Template } from "@huggingface/jinja";
import { ConfigError, DataError } from "../core/errors.ts";
import type { SeatPrompt } from "../env/environment.ts";
import { readModelFile, readModelJson, tokenizerConfigSchema } from "./model-folder.ts";
import type { PromptConfig } from "./renderer-config.ts";
import type { Renderer, Tokenizer } from "./tokenizer.ts";

/** A chat template with the special tokens it may name. */
export interface ChatTemplate {
  readonly source: string;
  readonly bosToken: string;
  readonly eosToken: string;
  /** Where it came from, for errors. */
  readonly where: string;
}

interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

type MakeRenderer = (tokenizer: Tokenizer, config: PromptConfig, chat: ChatTemplate | undefined) => Renderer;

const renderers: Record<"plain" | "chat", MakeRenderer> = { plain: plainRenderer, chat: chatRenderer };

/** The renderer a config asks for; `auto` is chat where the model has a template. Throws ConfigError. */
export function createRenderer(
  tokenizer: Tokenizer,
  config: PromptConfig,
  chat: ChatTemplate | undefined,
): Renderer {
  return renderers[formatOf(config, chat)](tokenizer, config, chat);
}

/** The folder's chat template: chat_template.jinja, or the (default) one of tokenizer_config.json. */
export function loadChatTemplate(folder: string): ChatTemplate | undefined {
  const config = readModelJson(folder, "tokenizer_config.json", tokenizerConfigSchema);
  const listed = config?.chat_template;
  const inConfig =
    typeof listed === "string" ? listed : listed?.find((entry) => entry.name === "default")?.template;
  const source = readModelFile(folder, "chat_template.jinja") ?? inConfig;
  if (source === undefined) return undefined;
  return { source, bosToken: config?.bos_token ?? "", eosToken: config?.eos_token ?? "", where: folder };
}

function plainRenderer(tokenizer: Tokenizer, config: PromptConfig): Renderer {
  return {
    prompt: (question, words) => tokenizer.encode(fill(words?.plain ?? config.template, question)),
    observation: (text) => text,
  };
}

function chatRenderer(tokenizer: Tokenizer, config: PromptConfig, chat: ChatTemplate | undefined): Renderer {
  if (chat === undefined)
    throw new ConfigError({
      where: "rollout.prompt.format",
      what: "the model has no chat template",
      got: "chat",
      expected: "chat_template.jinja, or chat_template in tokenizer_config.json",
      next: "Use `format: plain`, or add the template to the model folder.",
    });
  const render = compile(chat);
  const opening = (question: string, words?: SeatPrompt) => openingOf(words ?? config, question);
  const frame = config.observation === "user" ? userFrame(render, opening("?"), chat.where) : undefined;
  return {
    // The template writes the beginning-of-text token itself, and `encode` adds none: there is never a second one.
    prompt: (question, words) => tokenizer.encode(render(opening(question, words), true)),
    observation: (text) => (frame ? frame.before + text + frame.after : text),
  };
}

/** The messages that open an episode in the chat format. */
function openingOf({ system, user }: Pick<PromptConfig, "system" | "user">, question: string): Message[] {
  return [
    ...(system === "" ? [] : [{ role: "system", content: system } as const]),
    { role: "user", content: fill(user, question) },
  ];
}

/** How prompts are worded: the format that a config asks for, and the messages that open an episode in it. */
export function wordingOf(
  config: PromptConfig,
  chat: ChatTemplate | undefined,
): {
  readonly format: "plain" | "chat";
  /** @param words a seat's own opening, in place of the config's */
  readonly opening: (question: string, words?: SeatPrompt) => readonly Message[];
} {
  const format = formatOf(config, chat);
  if (format === "chat")
    return { format, opening: (question, words) => openingOf(words ?? config, question) };
  return {
    format,
    opening: (question, words) => [
      { role: "user", content: fill(words?.plain ?? config.template, question) },
    ],
  };
}

const formatOf = ({ format }: PromptConfig, chat: ChatTemplate | undefined) =>
  format === "auto" ? (chat ? "chat" : "plain") : format;

type Render = (messages: readonly Message[], addGenerationPrompt: boolean) => string;

function compile(chat: ChatTemplate): Render {
  const render = compileTemplate(chat);
  return (messages, addGenerationPrompt) =>
    render({
      messages: messages.map((message) => ({ ...message })),
      add_generation_prompt: addGenerationPrompt,
    });
}

/** A template as a function of its variables, which know the special tokens. @throws DataError, the function too */
export function compileTemplate(
  chat: ChatTemplate,
): (variables: Readonly<Record<string, unknown>>) => string {
  const fail = (what: string, cause: unknown) =>
    new DataError({ where: chat.where, what, got: (cause as Error).message, cause });
  let template: Template;
  try {
    template = new Template(chat.source);
  } catch (cause) {
    throw fail("the chat template cannot be parsed", cause);
  }
  return (variables) => {
    try {
      return template.render({ ...variables, bos_token: chat.bosToken, eos_token: chat.eosToken });
    } catch (cause) {
      throw fail("the chat template refused the prompt", cause);
    }
  };
}

/** What the template writes between an assistant's text and a user turn, and from there to the next assistant's. */
function userFrame(render: Render, opening: readonly Message[], where: string) {
  const said = "ASSISTANTSAID";
  const seen = "USERSAW";
  const turns: Message[] = [
    ...opening,
    { role: "assistant", content: said },
    { role: "user", content: seen },
  ];
  const text = render(turns, true);
  const from = text.indexOf(said) + said.length;
  const to = text.indexOf(seen);
  if (from < said.length || to < from)
    throw new DataError({
      where,
      what: "the chat template does not repeat what was said, so search results cannot be a user turn",
      next: "Use `rollout.prompt.observation: inline`.",
    });
  return { before: text.slice(from, to), after: text.slice(to + seen.length) };
}

/** Replaces {question}, literally: `$&` in a question means nothing. */
function fill(template: string, question: string): string {
  return template.replaceAll("{question}", () => question);
}
