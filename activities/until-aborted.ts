// Foreign code that may not heed its signal: it is waited for until then, and no longer.

/** What `run` comes to; rejects with the signal's reason once that is aborted, whatever `run` does. */
export async function untilAborted<Value>(signal: AbortSignal, run: () => Value | Promise<Value>): Promise<Value> {
  let give = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    give = () => reject(signal.reason as Error);
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([Promise.resolve().then(run), aborted]);
  } finally {
    signal.removeEventListener('abort', give);
  }
}
