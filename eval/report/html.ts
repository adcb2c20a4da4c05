/** Text that is HTML already. Made by `html` alone, so that nothing from data gets in unescaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

/** A template whose values are escaped, unless they are Html; lists are joined, undefined and false are nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, i) => part + (i < values.length ? render(values[i]) : "")).join(""));
}

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? escapeHtml(value) : value.map(render).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For element content and quoted attributes. What no page may hold, and what turns the text around it, is shown as "·". */
export function escapeHtml(text: string): string {
  return text.replace(invisible, "\u00b7").replace(/[&<>"']/g, (character) => entities[character] as string);
}

/** Control characters but tab and line break, halves of a character, and what changes the direction of what follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the page.
export const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;
