// What one attempt was billed (L51): tokens as its usage says, US dollars by the run's price.
import type { Usage as ApiUsage } from '@anthropic-ai/sdk/resources/messages';
import { costOf, noUsage, type Price, type Spend, type Usage } from '../../workflows/contract/loop.ts';

export function spendOf(usage: ApiUsage | undefined, price: Price | null): Spend {
  const counted = usage ? countUsage(usage) : noUsage;
  return { usage: counted, usd: price && costOf(counted, price) };
}

/** No reply has so many tokens: sums of what a server makes up must stay numbers. */
const MOST_TOKENS = 1_000_000_000;

/** Missing or absurd counts of a server count as nothing. */
function countUsage(usage: ApiUsage): Usage {
  const whole = (value: unknown): number =>
    typeof value === 'number' && value > 0 && value <= MOST_TOKENS ? Math.ceil(value) : 0;
  return {
    input: whole(usage.input_tokens),
    output: whole(usage.output_tokens),
    cacheRead: whole(usage.cache_read_input_tokens),
    cacheWrite: whole(usage.cache_creation_input_tokens),
  };
}
