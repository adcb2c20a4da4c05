import type { FactName, Finding } from "../rollout/endpoint/probe.ts";
import type { HealthCheck, Patient } from "./health.ts";
import { type ProbedServer, probeServers } from "./open-endpoint.ts";

const probed = new WeakMap<Patient["setup"], Promise<ProbedServer[]>>();

/** The servers are asked once; each check reads its own facts off the answer. */
function serversOf({ setup, signal }: Patient): Promise<ProbedServer[]> | undefined {
  const { endpoint } = setup.config;
  if (!endpoint) return undefined;
  const known = probed.get(setup) ?? probeOnce(setup, endpoint, signal);
  probed.set(setup, known);
  return known;
}

async function probeOnce(...asked: Parameters<typeof probeServers>): Promise<ProbedServer[]> {
  const servers = await probeServers(...asked);
  for (const { connection } of servers) connection.close();
  return servers;
}

const worse = { ok: 0, warn: 1, fail: 2 } as const;

/** One fact over all servers: the worst verdict, each server's evidence. */
function factCheck(fact: FactName): HealthCheck {
  return {
    name: fact,
    cheap: true,
    async run(patient): Promise<Finding | undefined> {
      const servers = await serversOf(patient);
      if (!servers) return undefined;
      const found = servers.flatMap(({ connection, facts }) => {
        const own = facts.find(({ name }) => name === fact);
        return own ? [{ url: connection.url, ...own }] : [];
      });
      const [first] = found;
      if (!first) return undefined;
      const worst = found.reduce((a, b) => (worse[b.verdict] > worse[a.verdict] ? b : a), first);
      const evidence = found.map(({ url, evidence: seen }) => (found.length > 1 ? `${url}: ${seen}` : seen));
      return {
        verdict: worst.verdict,
        evidence: evidence.join("; "),
        ...(worst.next === undefined ? {} : { next: worst.next }),
      };
    },
  };
}

const facts: readonly FactName[] = [
  "reachable",
  "model",
  "context",
  "tokenIds",
  "logprobs",
  "temperature",
  "sampling",
  "stop",
  "clipping",
];

/** Checks of the servers that `endpoint` names; none without. */
export const endpointChecks: readonly HealthCheck[] = facts.map(factCheck);
