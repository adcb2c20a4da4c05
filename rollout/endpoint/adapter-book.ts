import { EndpointError } from "./error.ts";
import { awake } from "./timers.ts";

/** Which adapters are published, and how many requests each has under way. */
export interface AdapterBook {
  /** Name to folder. */
  readonly published: ReadonlyMap<string, string>;
  /** A name may be used once. @throws EndpointError */
  reserve(name: string): void;
  publish(name: string, path: string): void;
  /** It was not published after all: the name is free again. */
  giveUp(name: string): void;
  /** No request may be under way. */
  retire(name: string): void;
  /** A request for the model begins; call what it returns when it is over. @throws EndpointError when it was retired */
  use(model: string): () => void;
  /** Resolves when no request for it is under way. Rejects with the signal's reason. */
  idle(name: string, signal: AbortSignal): Promise<void>;
}

export function adapterBook(): AdapterBook {
  const published = new Map<string, string>();
  const reserved = new Set<string>();
  const retired = new Set<string>();
  const underWay = new Map<string, number>();
  const listeners = new Map<string, Set<() => void>>();

  const over = (model: string) => {
    const left = (underWay.get(model) ?? 1) - 1;
    if (left > 0) return void underWay.set(model, left);
    underWay.delete(model);
    for (const tell of listeners.get(model) ?? []) tell();
  };

  return {
    published,
    reserve(name) {
      if (published.has(name) || reserved.has(name) || retired.has(name))
        throw new EndpointError("refused", {
          what: `an adapter was already published as \`${name}\``,
          next: "Give every version a name of its own: servers keep cached states by name.",
        });
      reserved.add(name);
    },
    publish(name, path) {
      reserved.delete(name);
      published.set(name, path);
    },
    giveUp: (name) => void reserved.delete(name),
    retire(name) {
      published.delete(name);
      retired.add(name);
    },
    use(model) {
      if (retired.has(model))
        throw new EndpointError("refused", {
          what: `the adapter \`${model}\` was retired`,
          next: "Keep a version published until the last episode that uses it is over.",
        });
      underWay.set(model, (underWay.get(model) ?? 0) + 1);
      return () => over(model);
    },
    idle(name, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (!underWay.has(name)) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const rest = awake();
        const tells = listeners.get(name) ?? new Set();
        listeners.set(name, tells);
        const end = () => {
          tells.delete(idle);
          if (tells.size === 0) listeners.delete(name);
          signal.removeEventListener("abort", abort);
          rest();
        };
        const idle = () => {
          end();
          resolve();
        };
        const abort = () => {
          end();
          reject(signal.reason);
        };
        tells.add(idle);
        signal.addEventListener("abort", abort, { once: true });
      });
    },
  };
}
