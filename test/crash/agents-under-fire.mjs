// The command of agents-under-fire.test.ts: --seed N (228), --trees N (40) of at most --agents N
// (40), --together N (10) trees on one worker at a time.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '228' },
    trees: { type: 'string', default: '40' },
    agents: { type: 'string', default: '40' },
    together: { type: 'string', default: '10' },
  },
});
const { seed, trees, agents, together } = values;
const env = { ...process.env, FIRE_SEED: seed, FIRE_TREES: trees, FIRE_AGENTS: agents, FIRE_TOGETHER: together };
process.stdout.write(`seed ${seed}: ${trees} trees\n`);
const args = [
  'vitest',
  'run',
  '--project',
  'crash',
  '--disable-console-intercept=true',
  'test/crash/agents-under-fire.test.ts',
];
process.exit(spawnSync('npx', args, { env, stdio: 'inherit' }).status ?? 1);
