/** What an answer is made of, without what it says: each path with the types seen there. */
export type Shape = Readonly<Record<string, readonly string[]>>;

/** Strings that are words of the protocol, kept as they are. */
const vocabulary = ["object", "finish_reason", "type", "role", "owned_by", "organization", "param"];
/** Arrays whose items are keyed by token. */
const byToken = /(logprobs\.top_logprobs|prompt_logprobs)\[\]$/;

/** An answer as it came: JSON parsed, server-sent events as a list, other bodies as text. */
export function readAnswer(media: string | undefined, body: string): unknown {
  if (media === "application/json") return JSON.parse(body);
  if (media !== "text/event-stream") return body;
  const events = body.split("\n\n").filter((event) => event !== "");
  return { events: events.slice(0, -1).map((event) => JSON.parse(event.slice(6))), last: events.at(-1) };
}

export function shapeOf(answer: unknown): Shape {
  const seen = new Map<string, Set<string>>();
  const note = (path: string, type: string) => {
    const types = seen.get(path) ?? new Set();
    seen.set(path, types.add(type));
  };
  const visit = (path: string, key: string, value: unknown): void => {
    if (value === null) note(path, "null");
    else if (Array.isArray(value)) {
      note(path, value.length === 0 ? "empty" : "array");
      for (const item of value) visit(`${path}[]`, key, item);
    } else if (typeof value === "object") {
      note(path, "object");
      const keyed = byToken.test(path);
      for (const [name, item] of Object.entries(value))
        visit(keyed ? `${path}{}` : `${path}.${name}`, name, item);
    } else note(path, leaf(path, key, value));
  };
  visit("", "", answer);
  return Object.fromEntries([...seen].map(([path, types]) => [path, [...types].sort()]));
}

function leaf(path: string, key: string, value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value !== "string") return typeof value;
  // Messages, and bodies that are not JSON, are for people and for clients that match them: their numbers may differ.
  if (path === "" || path === ".last" || path === ".error.message")
    return `text: ${value.replace(/\d+/g, "#")}`;
  return vocabulary.includes(key) ? `"${value}"` : "string";
}

/** How a shape differs from the one it should have: a path too many or missing, or a type that was never there. */
export function differences(got: Shape, expected: Shape): string[] {
  const paths = [...new Set([...Object.keys(got), ...Object.keys(expected)])];
  return paths.flatMap((path) => {
    const [ours, theirs] = [got[path], expected[path]];
    if (!ours || !theirs) return [`${path}: ${ours ? "not in the contract" : "missing"}`];
    const odd = ours.filter((type) => !theirs.includes(type));
    return odd.length > 0 ? [`${path}: ${odd.join(" or ")}, expected ${theirs.join(" or ")}`] : [];
  });
}

/** A recorded call: what is asked of a server that holds the `given` adapters, and the shape of what it answers. */
export interface ContractCase {
  readonly name: string;
  readonly given: readonly string[];
  readonly request: { readonly method: string; readonly path: string; readonly body?: unknown };
  readonly status: number;
  /** Of the body; undefined where the server names none. */
  readonly media?: string | undefined;
  /** Name in `shapes`. */
  readonly shape: string;
}

export interface Contract {
  readonly shapes: Readonly<Record<string, Shape>>;
  readonly cases: readonly ContractCase[];
}

/** A case's body as it is sent: long prompts and the folder of the adapters are written short in the fixture. */
export function filled(value: unknown, folder: string): unknown {
  if (typeof value === "string") return value.replace("{folder}", folder);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((each) => filled(each, folder));
  const { repeat, times } = value as { repeat?: unknown; times?: unknown };
  if (typeof times === "number") return Array.from({ length: times }, () => repeat);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner, folder)]));
}
