import type { Compression, Overrun } from "./account.ts";
import { type Blackboard, tagged } from "./blackboard.ts";
import type { TeamConfig } from "./config.ts";
import type { Entry, RoleName } from "./roles.ts";
import type { Workspace } from "./workspace.ts";

export interface LimitsOptions {
  readonly board: Blackboard;
  readonly workspaces: Readonly<Record<string, Workspace>>;
  /** The roles that are on. */
  readonly roles: readonly RoleName[];
  readonly team: TeamConfig;
  readonly countTokens: (text: string) => number;
  /** What the analyst makes of a text; undefined where it cannot. */
  readonly compress: (text: string) => Promise<string | undefined>;
}

/**
 * The sizes of the blackboard and of the roles' workspaces. A limit is soft: an overrun is counted. After the soft
 * rounds the analyst compresses what is over, and the record keeps what was replaced. Nothing is cut.
 */
export class Limits {
  readonly compressions: Compression[] = [];
  readonly overruns: Overrun[] = [];
  readonly #options: LimitsOptions;

  constructor(options: LimitsOptions) {
    this.#options = options;
  }

  /** As a round begins. @param reads what a role may read, for a conversation that begins anew */
  async keep(round: number, reads: (role: RoleName) => readonly Entry[]): Promise<void> {
    const { board, workspaces, roles, team, countTokens } = this.#options;
    const { blackboardTokens, workspaceTokens, softRounds } = team;
    const hard = round > softRounds;
    const tokens = countTokens(board.text);
    if (tokens > blackboardTokens) {
      this.overruns.push({ round, of: "blackboard", tokens, limit: blackboardTokens });
      if (hard && board.verdicts > 1) await this.#compressBoard(round, tokens);
    }
    for (const role of roles) {
      const workspace = workspaces[role]!;
      if (workspace.tokens <= workspaceTokens) continue;
      this.overruns.push({ round, of: role, tokens: workspace.tokens, limit: workspaceTokens });
      if (hard && workspace.restarts) await this.#compressWorkspace(round, role, reads(role));
    }
  }

  async #compressBoard(round: number, tokensBefore: number): Promise<void> {
    const { board, compress, countTokens } = this.#options;
    const by = await compress(board.text);
    if (by === undefined) return;
    const replaced = board.compressVerdicts(by);
    const tokensAfter = countTokens(board.text);
    this.compressions.push({ round, of: "blackboard", replaced, by, tokensBefore, tokensAfter });
  }

  async #compressWorkspace(round: number, role: RoleName, reads: readonly Entry[]): Promise<void> {
    const { board, workspaces, compress } = this.#options;
    const workspace = workspaces[role]!;
    const { text: replaced, tokens: tokensBefore } = workspace;
    const by = await compress(replaced);
    if (by === undefined) return;
    await workspace.restart(`${tagged("summary", by)} ${board.all(role, reads)}`.trimEnd());
    const tokensAfter = workspace.tokens;
    this.compressions.push({ round, of: role, replaced, by, tokensBefore, tokensAfter });
  }
}
