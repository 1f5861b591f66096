// Something to do when a signal is aborted, and the end of both.

/** Acts at most once. What is returned stops listening, for the signal may outlive its listener, and waits for what was begun. */
export function onceAborted(signal: AbortSignal | undefined, act: () => Promise<void>): () => Promise<void> {
  let acting: Promise<void> | undefined;
  const begin = (): void => {
    acting = act();
  };
  if (signal?.aborted) begin();
  else signal?.addEventListener('abort', begin, { once: true });
  return async () => {
    signal?.removeEventListener('abort', begin);
    await acting;
  };
}
