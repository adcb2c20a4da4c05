/** All of the works, or the first failure; then the others are aborted. */
export async function together<T>(
  works: readonly ((signal: AbortSignal) => Promise<T>)[],
  signal: AbortSignal,
): Promise<T[]> {
  const controller = new AbortController();
  // Without the reason: a server says it in a string, and what is thrown must be an AbortError.
  const abort = () => controller.abort();
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.all(works.map((work) => work(controller.signal)));
  } catch (error) {
    abort();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
