// A few sandboxes that are killed and frozen while sessions work in them (G57 G60 G62 B1): a small
// fire of `npm run sandbox-under-fire -- --seed 7 --kills 100 --freezes 100`. It makes namespaces,
// which needs root on Linux.
import { test } from 'vitest';
import { expectFire } from './expect-fire.ts';

test(
  'calls in sandboxes that are killed, frozen and cut off happen once, have one result each, and no session is stuck (B1)',
  { timeout: 3_600_000 },
  (context) =>
    expectFire(context, 'sandbox-under-fire', [
      '--kills',
      '3',
      '--freezes',
      '3',
      '--sandboxes',
      '3',
      '--sessions',
      '3',
    ]),
);
