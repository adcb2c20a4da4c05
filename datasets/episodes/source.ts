/** Where a text comes from, as in a trajectory's segments. */
export const sources = ["prompt", "policy", "observation", "injected"] as const;
export type Source = (typeof sources)[number];
