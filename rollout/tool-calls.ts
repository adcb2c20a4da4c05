/** One call of a tool. */
export interface ToolCall {
  readonly name: string;
  /** A JSON object as text, as the API carries it. */
  readonly arguments: string;
}

/**
 * Reads tool calls in the form that Qwen, SmolLM and Hermes models are trained on: `<tool_call>{"name": …,
 * "arguments": {…}}</tool_call>`. One that cannot be read leaves all of the text as text: the model wrote no call then.
 */
export function readToolCalls(text: string): { content: string; calls: readonly ToolCall[] } {
  const blocks = [...text.matchAll(/<tool_call>([\s\S]*?)(?:<\/tool_call>|$)/gu)];
  const calls = blocks.map(([, inside = ""]) => readCall(inside));
  if (blocks.length === 0 || calls.includes(undefined)) return { content: text, calls: [] };
  return { content: text.slice(0, blocks[0]?.index).trimEnd(), calls: calls as ToolCall[] };
}

function readCall(text: string): ToolCall | undefined {
  const value = parsed(text);
  if (!isObject(value) || typeof value.name !== "string") return undefined;
  const given = value.arguments ?? {};
  return { name: value.name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
}

/** The same calls with the same arguments, however the JSON is spaced. */
export function sameCalls(a: readonly ToolCall[], b: readonly ToolCall[]): boolean {
  const plain = (calls: readonly ToolCall[]) =>
    JSON.stringify(calls.map((call) => [call.name, parsed(call.arguments) ?? call.arguments]));
  return plain(a) === plain(b);
}

/** The value of a JSON text, or undefined. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
