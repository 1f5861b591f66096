// An attempt that fails tells its watchers before it fails: what it had shown is void (L16).
import type { LiveWriter } from './events.ts';

/** What `body` returns, or what it throws once the channel has said so. */
export async function orDied<Result>(live: LiveWriter, body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    await live.end({ type: 'fate', fate: 'died', why: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}
