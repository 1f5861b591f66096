// Signed commits from the sandbox, with a real ssh-agent and gpg-agent: commands reach neither, and
// are told so, unless the configuration lets them.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import type { KeyAgent } from '../../../tools/builtin/files/options.ts';
import { findPlaces } from '../../../system/process/places.ts';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { ToolOutput } from '../../../tools/tool.ts';
import { until } from '../../support/until.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const hasSandbox = (await workingSandboxes()).some(({ kind }) => kind === 'bwrap');
const hasProgram = (name: string): boolean => ['/usr/bin', '/bin'].some((folder) => existsSync(join(folder, name)));

afterEach(() => vi.unstubAllEnvs());

/** A home outside the temporary folder, which commands write, and a repository. */
function homeAndRepository(): { readonly home: string; readonly cwd: string } {
  const home = mkdtempSync(join(tmpdir(), 'perdure-home-'));
  // An agent that was told to end may still remove its sockets.
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 20 }));
  vi.stubEnv('HOME', home);
  const cwd = tempFolder();
  execFileSync('git', ['init', '-q'], { cwd });
  return { home, cwd };
}

const commit = (cwd: string, keyAgents: readonly KeyAgent[]): Promise<ToolOutput> =>
  run(cwd, 'git commit --allow-empty -m x', keyAgents);

async function run(cwd: string, command: string, keyAgents: readonly KeyAgent[]): Promise<ToolOutput> {
  const sandbox = await probeSandbox({ kinds: ['bwrap'], places: findPlaces(process.env) });
  const tool = createBashTool({ sandbox, keyAgents });
  return tool.call(inputFor(tool, { command }), toolContext(cwd));
}

const REFUSED = expect.stringContaining('(commands reach no agent for keys from the sandbox');

test.runIf(hasSandbox && hasProgram('ssh-agent'))(
  'a commit signed by ssh needs the agent, which is out of reach but by choice (L55)',
  async () => {
    const { home, cwd } = homeAndRepository();
    const key = join(home, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const socket = join(home, 'agent.sock');
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
    onTestFinished(() => void agent.kill());
    await until(() => existsSync(socket));
    vi.stubEnv('SSH_AUTH_SOCK', socket);
    execFileSync('ssh-add', ['-q', key], { stdio: 'ignore' });
    const named = `key::${readFileSync(`${key}.pub`, 'utf8').trim()}`;
    rmSync(key);
    writeFileSync(
      join(home, '.gitconfig'),
      `[user]\n\tname = T\n\temail = t@example.org\n\tsigningkey = ${named}\n[gpg]\n\tformat = ssh\n[commit]\n\tgpgsign = true\n`,
    );
    expect(await commit(cwd, [])).toMatchObject({ isError: true, content: REFUSED });
    expect(await commit(cwd, ['gpg'])).toMatchObject({ isError: true });
    expect((await commit(cwd, ['ssh'])).isError).toBeUndefined();
    expect(execFileSync('git', ['cat-file', '-p', 'HEAD'], { cwd, encoding: 'utf8' })).toContain('BEGIN SSH SIGNATURE');
  },
);

test.runIf(hasSandbox && hasProgram('gpg'))('a commit signed by gpg likewise (L55)', async () => {
  const { home, cwd } = homeAndRepository();
  mkdirSync(join(home, '.gnupg'), { mode: 0o700 });
  execFileSync('gpg', ['--batch', '--passphrase', '', '--quick-gen-key', 't@example.org', 'ed25519', 'sign'], {
    stdio: 'ignore',
  });
  onTestFinished(
    () => void execFileSync('gpgconf', ['--homedir', join(home, '.gnupg'), '--kill', 'all'], { stdio: 'ignore' }),
  );
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = T\n\temail = t@example.org\n\tsigningkey = t@example.org\n[commit]\n\tgpgsign = true\n',
  );
  expect(await commit(cwd, [])).toMatchObject({ isError: true, content: REFUSED });
  expect((await commit(cwd, ['gpg'])).isError).toBeUndefined();
  expect(execFileSync('git', ['cat-file', '-p', 'HEAD'], { cwd, encoding: 'utf8' })).toContain('BEGIN PGP SIGNATURE');
  const exported = await run(cwd, 'gpg --batch --armor --export-secret-keys', ['gpg']);
  expect(exported.content).not.toContain('BEGIN PGP PRIVATE KEY');
});
