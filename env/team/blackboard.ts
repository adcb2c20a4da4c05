import type { Draft, Path, Verdict } from "./message.ts";
import type { Entry } from "./roles.ts";

/** An entry as roles read it. */
interface Note {
  readonly text: string;
  /** Rises with every note, so that a role is shown each once. */
  readonly at: number;
}

/**
 * What the roles share. The task, the constraints, the path and the verdicts are public; conditions and drafts are handed
 * from one role to the next. Each entry has its newest text; verdicts are kept whole until they are compressed.
 */
export class Blackboard {
  readonly #notes = new Map<Entry, Note>();
  readonly #seen = new Map<string, number>();
  #verdicts: string[] = [];
  #clock = 0;

  writePath({ path, constraints }: Path): void {
    this.#write("path", path.join(" ; "));
    if (constraints.length > 0) this.#write("constraints", constraints.join(" ; "));
  }

  writeConditions(conditions: readonly string[]): void {
    this.#write("conditions", conditions.join(" ; "));
  }

  writeDraft({ steps, answer }: Draft): void {
    this.#write("draft", `${steps} ${tagged("answer", answer)}`);
  }

  /** @param verdict undefined where there was no readable one */
  writeVerdict(verdict: Verdict | undefined): void {
    const { step, reason } = verdict ?? {};
    const parts = [
      "fail",
      ...(step === undefined ? [] : [tagged("step", step)]),
      ...(reason === undefined ? [] : [tagged("reason", reason)]),
    ];
    this.#write("verdict", parts.join(" "));
    this.#verdicts.push(parts.join(" "));
  }

  /** What of these entries a role has not been shown yet; then it has. */
  news(role: string, entries: readonly Entry[]): string {
    const before = this.#seen.get(role) ?? -1;
    const fresh = entries.filter((entry) => (this.#notes.get(entry)?.at ?? -1) > before);
    this.#seen.set(role, this.#clock);
    return this.#shown(fresh);
  }

  /** All of these entries as they are now, for a conversation that begins anew. */
  all(role: string, entries: readonly Entry[]): string {
    this.#seen.set(role, this.#clock);
    return this.#shown(entries);
  }

  /** The public part as one text. */
  get text(): string {
    const publics = this.#shown(["constraints", "path"]);
    return [publics, ...this.#verdicts.map((verdict) => tagged("verdict", verdict))]
      .filter((part) => part !== "")
      .join(" ");
  }

  /** Puts one text in the place of all verdicts so far. @returns what it replaced */
  compressVerdicts(summary: string): string {
    const replaced = this.#verdicts.map((verdict) => tagged("verdict", verdict)).join(" ");
    this.#verdicts = [summary];
    return replaced;
  }

  get verdicts(): number {
    return this.#verdicts.length;
  }

  #write(entry: Entry, text: string): void {
    this.#notes.set(entry, { text, at: ++this.#clock });
  }

  #shown(entries: readonly Entry[]): string {
    return entries
      .flatMap((entry) => {
        const note = this.#notes.get(entry);
        return note === undefined ? [] : [tagged(entry, note.text)];
      })
      .join(" ");
  }
}

export const tagged = (name: string, text: string): string => `<${name}> ${text} </${name}>`;

/** Entries as a role was shown them, read back: what the text does not hold is not there. */
export function readEntries(text: string): {
  path?: string[];
  constraints?: string[];
  conditions?: string[];
  draft?: Draft;
  verdict?: Verdict;
} {
  const draft = within(text, "draft");
  const verdict = within(text, "verdict");
  const list = (name: Entry) =>
    within(text, name)
      ?.split(";")
      .map((item) => item.trim());
  const [path, constraints, conditions] = [list("path"), list("constraints"), list("conditions")];
  return {
    ...(path && { path }),
    ...(constraints && { constraints }),
    ...(conditions && { conditions }),
    ...(draft !== undefined && { draft: readDraft(draft) }),
    ...(verdict !== undefined && { verdict: readVerdict(verdict) }),
  };
}

/** The last one wins: it is the newest. */
function within(text: string, name: string): string | undefined {
  const from = text.lastIndexOf(`<${name}>`);
  const to = text.indexOf(`</${name}>`, from);
  return from < 0 || to < 0 ? undefined : text.slice(from + name.length + 2, to).trim();
}

function readDraft(text: string): Draft {
  const at = text.lastIndexOf("<answer>");
  return { steps: text.slice(0, at).trim(), answer: within(text, "answer") ?? "" };
}

/** Only rejections stand on the blackboard, and of them what the next path is made from. */
function readVerdict(text: string): Verdict {
  const [step, reason] = [within(text, "step"), within(text, "reason")];
  return {
    ...{ forward: "", backward: "", verdict: "fail" },
    ...(step === undefined ? {} : { step }),
    ...(reason === undefined ? {} : { reason }),
  };
}
