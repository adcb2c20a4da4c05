/** What happened to an adapter, for the log of the run. */
export interface PublishEvent {
  readonly kind:
    | "slots"
    | "swept"
    | "sweepFailed"
    | "noCanary"
    | "canaryFailed"
    | "proof"
    | "retry"
    | "published"
    | "unloaded"
    | "unloadFailed";
  readonly level: "info" | "warn";
  readonly text: string;
}
