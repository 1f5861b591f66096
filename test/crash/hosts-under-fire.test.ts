// A few sessions on three hosts that are cut off, frozen, killed and wiped (T18 T19): a small fire of
// `npm run hosts-under-fire -- --seed 7 --minutes 20`. It makes namespaces, which needs root on Linux.
import { test } from 'vitest';
import { expectFire } from './expect-fire.ts';

test(
  'sessions on hosts that come and go all end, lose no message, repeat no effect, and keep their files (T18 T19)',
  { timeout: 3_600_000 },
  (context) => expectFire(context, 'hosts-under-fire', ['--minutes', '2', '--sessions', '4']),
);
