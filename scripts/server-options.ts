import type { Argv } from "yargs";
import { ConfigError } from "../core/errors.ts";
import type { Listening } from "../serve/listen.ts";
import type { Output } from "./output.ts";

/** --host, --port and --api-key-env, for the commands that serve. */
export function withServer<T>(yargs: Argv<T>) {
  return yargs
    .option("host", {
      type: "string",
      default: "127.0.0.1",
      describe: "address to listen on; the default is for this machine alone",
    })
    .option("port", { type: "number", default: 8000, describe: "0 is any free one" })
    .option("apiKeyEnv", {
      type: "string",
      describe: "environment variable with the key that /v1 asks for; default: no key",
    });
}

/** The key that an option names. @throws ConfigError when the variable is not set */
export function apiKeyOf(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const key = process.env[variable];
  if (key) return key;
  throw new ConfigError({
    what: "the environment variable is not set",
    where: "--api-key-env",
    got: variable,
    next: `Set it: export ${variable}=...`,
  });
}

/** @throws ConfigError for a port that cannot be */
export function checkPort(port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return;
  throw new ConfigError({ what: "no port", where: "--port", got: String(port), expected: "0 to 65535" });
}

/** Who may reach a server, said where it is more than this machine. */
export function warnOpen(host: string, apiKey: string | undefined, output: Output): void {
  const loopback = /^(127\.|localhost$|::1$)/.test(host);
  if (!loopback && apiKey === undefined)
    output.warn(`${host} is open to others and there is no API key: set one with --api-key-env`);
}

/** Says where a server is and how to ask it, and returns when the user has had enough. */
export async function serveUntil(
  signal: AbortSignal,
  server: Pick<Listening, "url">,
  { model, apiKey, output }: { model: string; apiKey: string | undefined; output: Output },
): Promise<void> {
  const key = apiKey === undefined ? "" : ` -H "authorization: Bearer $KEY"`;
  const body = JSON.stringify({ model, prompt: "Question: who?", max_tokens: 32 });
  output.line(`serving ${model} at ${server.url} (Ctrl-C ends it)`);
  output.line(`  curl ${server.url}/v1/completions -H "content-type: application/json"${key} -d '${body}'`);
  output.event("listening", { url: server.url, model });
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
