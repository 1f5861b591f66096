// Starts what deploy/compose.yaml describes without a container engine, in namespaces that vanish
// with this process, and tries it. It needs Linux, root, and the programs that programs.mjs names.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Installation } from './bring-up.mjs';
import { readCompose, readDockerfile } from './read-compose.mjs';
import { readmeTask, runScenario } from './scenario.mjs';

const INSIDE = 'PERDURE_TRIAL_INSIDE';
const repository = fileURLToPath(new URL('../..', import.meta.url));
const seconds = (since) => `${((Date.now() - since) / 1_000).toFixed(1)} s`;
const say = (line) => process.stdout.write(`${line}\n`);

if (process.env[INSIDE] === undefined) enter();
else process.exitCode = await main();

/** Network, mounts and processes of its own: whatever happens, nothing of them is left. */
function enter() {
  if (process.platform !== 'linux' || process.getuid() !== 0) {
    process.stderr.write('deploy/try: it makes namespaces, which needs root on Linux\n');
    process.exit(2);
  }
  const spaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
  // The shell is the first process: it takes in orphans, without which a killed container never
  // ends.
  const again = ['sh', '-c', '"$@" & wait $!', 'sh', process.execPath, ...process.argv.slice(1)];
  const child = spawn('unshare', [...spaces, ...again], { stdio: 'inherit', env: { ...process.env, [INSIDE]: '1' } });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill('SIGKILL'));
  child.once('exit', (code) => process.exit(code ?? 1));
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-try-'));
  const started = Date.now();
  const here = findPrograms();
  const compose = readCompose(join(repository, 'deploy', 'compose.yaml'), {});
  const installation = new Installation(compose, { folder, here, say });
  try {
    await installation.up();
    say(`all of deploy/compose.yaml is up after ${seconds(started)}`);
    await runScenario(installation, { task: readmeTask(readFileSync(join(repository, 'README.md'), 'utf8')), say });
    await installation.down();
    say(`deploy/try: passed, ${seconds(started)}`);
    return 0;
  } catch (error) {
    process.stderr.write(`deploy/try: ${error.stack}\n`);
    for (const name of ['serve', 'worker-1', 'worker-2']) writeLog(installation, name);
    return 1;
  } finally {
    await installation.down().catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }
}

function findPrograms() {
  const at = process.argv.indexOf('--image');
  const imageRoot = at === -1 ? null : process.argv[at + 1];
  const dockerfile = readDockerfile(join(repository, 'Dockerfile'));
  return { repository, dockerfile, imageRoot, temporal: findTool('temporal'), versitygw: findTool('versitygw') };
}

/** On the path, or where the tests and the product keep what they have built. */
function findTool(name) {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'perdure');
  const built = join(cache, 'test-bin');
  const folders = [
    join(cache, 'bin'),
    ...(existsSync(built) ? readdirSync(built) : []).map((each) => join(built, each)),
  ];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
}

function writeLog(installation, name) {
  try {
    process.stderr.write(`--- ${name}\n${installation.logOf(name)}\n`);
  } catch {
    // It was never started.
  }
}
