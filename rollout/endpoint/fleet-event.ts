/** What happens in a fleet, for the log and the counters. */
export type FleetEvent =
  | {
      readonly event: "replicaQuarantined";
      readonly url: string;
      readonly why: string;
      readonly backOffMs: number;
    }
  /** It answers again and holds every published adapter; one request is let through. */
  | { readonly event: "replicaProbing"; readonly url: string; readonly adapters: readonly string[] }
  | { readonly event: "replicaHealthy"; readonly url: string }
  /** It had lost its adapters (a restart) or come too late for one; they are loaded again. */
  | { readonly event: "replicaReloaded"; readonly url: string; readonly adapters: readonly string[] }
  | { readonly event: "replicaCap"; readonly url: string; readonly cap: number }
  /** `without`: replicas that could not be reached and will load it when they come back. */
  | {
      readonly event: "adapterPublished";
      readonly name: string;
      readonly replicas: readonly string[];
      readonly without: readonly string[];
    }
  | { readonly event: "adapterRetired"; readonly name: string }
  /** A replica still holds an adapter that it should not; tried again when it next loads one. */
  | {
      readonly event: "adapterLeftBehind";
      readonly url: string;
      readonly name: string;
      readonly why: string;
    };
