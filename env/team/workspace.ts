import type { Act, ActOptions, Observation, Seat } from "../environment.ts";

/** One role's private conversation, which counts its tokens and can be begun anew. */
export class Workspace {
  readonly name: string;
  readonly #seat: Seat;
  /** All that was shown and written since the conversation began, for whoever compresses it. */
  #texts: string[] = [];
  #tokens = 0;
  #cut = 0;

  constructor(name: string, seat: Seat) {
    this.name = name;
    this.#seat = seat;
  }

  /** Tokens since the conversation began, its prompt aside. */
  get tokens(): number {
    return this.#tokens;
  }

  get text(): string {
    return this.#texts.join("\n");
  }

  /** Tokens cut from observations, over all conversations. */
  get cut(): number {
    return this.#cut;
  }

  /** Can it be begun anew? */
  get restarts(): boolean {
    return this.#seat.restart !== undefined;
  }

  async show(text: string | Observation): Promise<void> {
    if (text === "") return;
    this.#added(text, await this.#seat.observe(text));
  }

  async act(options: ActOptions): Promise<Act> {
    const act = await this.#seat.act(options);
    this.#texts.push(act.text);
    this.#tokens += act.tokens;
    return act;
  }

  async restart(text: string): Promise<void> {
    this.#texts = [];
    this.#tokens = 0;
    this.#added(text, await this.#seat.restart!(text));
  }

  #added(text: string | Observation, { tokens, cut }: { tokens: number; cut: number }): void {
    this.#texts.push(typeof text === "string" ? text : text.open + text.body + text.close);
    this.#tokens += tokens;
    this.#cut += cut;
  }
}
