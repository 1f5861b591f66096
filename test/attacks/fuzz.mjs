// The commands of what is drawn at random in this folder, for long runs: `fuzz:files -- --seed N
// --files N`, `fuzz:rules -- --seed N --commands N`.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const KINDS = {
  files: { file: 'foreign-files.test.ts', count: 'files', most: '10000', env: ['FILES_SEED', 'FILES'] },
  rules: { file: 'denied-commands.test.ts', count: 'commands', most: '50000', env: ['RULES_SEED', 'RULES_COMMANDS'] },
};
const [name = '', ...given] = process.argv.slice(2);
const kind = KINDS[/** @type {keyof typeof KINDS} */ (name)];
if (!kind) throw new Error(`name what is drawn: ${Object.keys(KINDS).join(' or ')}`);
const { values } = parseArgs({
  args: given,
  options: { seed: { type: 'string', default: '7' }, [kind.count]: { type: 'string', default: kind.most } },
});
const [seed, count] = [values['seed'], values[kind.count]];
const [ofSeed = '', ofCount = ''] = kind.env;
const env = { ...process.env, [ofSeed]: seed, [ofCount]: count };
process.stdout.write(`seed ${seed}: ${count} ${kind.count}\n`);
const args = ['vitest', 'run', '--project', 'attacks', `test/attacks/${kind.file}`];
process.exit(spawnSync('npx', args, { env, stdio: 'inherit' }).status ?? 1);
