import { spawn } from "node:child_process";
import { ConfigError, ForagerError } from "../../core/errors.ts";

/** What an agent is given for one episode. */
export interface AgentTask {
  readonly question: string;
  readonly questionId: string;
  /** For its OpenAI client; the reward is posted to `${baseUrl}/reward`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Aborted when the episode is over before the agent is. */
  readonly signal: AbortSignal;
}

/** What an agent may say at its end; a reward that it posted before stands. */
export interface AgentSaid {
  readonly answer?: string;
  readonly reward?: number;
}

/** An agent of the user's own: it works on one question with an OpenAI client. */
export type Agent = (task: AgentTask) => Promise<AgentSaid | undefined> | Promise<void>;

/** An agent did not come to its end by itself: its own failure, never the policy's. */
export class AgentError extends ForagerError {}

export interface CommandAgent {
  /** Program and arguments, without a shell. */
  readonly command: readonly string[];
  readonly cwd?: string;
  /** From asking a process to end to killing it; default 2,000. */
  readonly killAfterMs?: number;
}

/** Longest tail of an output that is kept. */
const mostText = 65_536;

/**
 * An agent that is a program of any language. Its environment has OPENAI_BASE_URL, OPENAI_API_KEY, FORAGER_QUESTION and
 * FORAGER_QUESTION_ID; the last line it prints, if it prints any, is its answer. A non-zero exit is a failure of the
 * agent's. It and the processes it began end with its episode.
 */
export function commandAgent({ command, cwd, killAfterMs = 2_000 }: CommandAgent): Agent {
  const [program = "", ...args] = command;
  return ({ question, questionId, baseUrl, apiKey, signal }) =>
    new Promise<AgentSaid | undefined>((resolve, reject) => {
      const child = spawn(program, args, {
        stdio: ["ignore", "pipe", "pipe"],
        detached: true, // A group of its own, so that its children can be ended with it.
        ...(cwd !== undefined && { cwd }),
        env: {
          ...process.env,
          ...direct(new URL(baseUrl).hostname),
          OPENAI_BASE_URL: baseUrl,
          OPENAI_API_KEY: apiKey,
          FORAGER_QUESTION: question,
          FORAGER_QUESTION_ID: questionId,
        },
      });
      const kill = (by: NodeJS.Signals) => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, by);
        } catch {
          // It has ended already.
        }
      };
      let timer: NodeJS.Timeout | undefined;
      const stop = () => {
        kill("SIGTERM");
        timer = setTimeout(kill, killAfterMs, "SIGKILL");
      };
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop, { once: true });
      let [said, complained] = ["", ""];
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-mostText);
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        complained = (complained + text).slice(-mostText);
      });
      child.on("error", (cause) => reject(cannotStart(program, cause)));
      child.on("exit", () => kill("SIGKILL")); // What it left running would keep its output open.
      child.on("close", (code, by) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        const answer = lastLine(said);
        if (code === 0) resolve(answer === undefined ? undefined : { answer });
        else reject(crashed(command, code ?? by, complained));
      });
    });
}

/** Python's clients would look for a loopback address behind a company's proxy. */
function direct(host: string): Record<string, string> {
  return Object.fromEntries(
    ["NO_PROXY", "no_proxy"].map((name) => [name, [process.env[name], host].filter(Boolean).join(",")]),
  );
}

const lastLine = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .findLast((line) => line !== "");

function cannotStart(program: string, cause: Error): ConfigError {
  return new ConfigError({
    what: "the agent's command cannot be started",
    where: "env.command",
    got: `${program}: ${cause.message}`,
    expected: "a program and its arguments, such as [node, agent.mjs]",
    next: "Name a program that is on the PATH, or by its whole path.",
    cause,
  });
}

function crashed(
  command: readonly string[],
  how: number | NodeJS.Signals | null,
  stderr: string,
): AgentError {
  const tail = stderr.trim().slice(-500);
  return new AgentError({
    what: `the agent ended with ${typeof how === "number" ? `exit code ${how}` : how}`,
    where: command.join(" "),
    ...(tail !== "" && { got: tail }),
  });
}
