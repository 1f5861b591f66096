// The command of http-fuzz.test.ts: --seed N (1), --requests N (100000).
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, requests: { type: 'string', default: '100000' } },
});
const env = { ...process.env, FUZZ_SEED: values.seed, FUZZ_REQUESTS: values.requests };
const args = [
  'vitest',
  'run',
  '--project',
  'attacks',
  '--disable-console-intercept=true',
  'test/attacks/http-fuzz.test.ts',
];
process.exit(spawnSync('npx', args, { env, stdio: 'inherit' }).status ?? 1);
