// What a command that failed is told of the sandbox, with real sockets and folders.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { findPlaces, isInside } from '../../../system/process/places.ts';
import { createBashTool } from '../../../tools/builtin/bash.ts';
import type { BuiltinOptions } from '../../../tools/builtin/files/options.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { ToolOutput } from '../../../tools/tool.ts';
import { workingSandboxes } from '../sandboxes.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const hasSandbox = (await workingSandboxes()).some(({ kind }) => kind === 'bwrap');

afterEach(() => vi.unstubAllEnvs());

async function run(command: string, options: Partial<BuiltinOptions> = {}): Promise<ToolOutput> {
  const sandbox = await probeSandbox({ kinds: ['bwrap'], places: findPlaces(process.env) });
  const tool = createBashTool({ sandbox, ...options });
  return tool.call(inputFor(tool, { command }), toolContext(tempFolder()));
}

const lastLine = ({ content }: ToolOutput): string => content.split('\n').at(-1) ?? '';

/** A socket in a folder of its own, behind which a service greets. */
async function listen(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-socket-'));
  const socket = join(folder, 'service.sock');
  const server = createServer((peer) => peer.end('hello\n'));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  chmodSync(socket, 0o666);
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return socket;
}

const TEMPORARY = [tmpdir(), '/tmp', '/var/tmp'].map((folder) => realpathSync(folder));
/** Commands write temporary folders, in which this file may lie. */
const OUTSIDE =
  [import.meta.dirname, homedir(), '/var/lib'].find((folder) => !TEMPORARY.some((one) => isInside(one, folder))) ?? '/';

const connect = (socket: string): string =>
  `python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect('${socket}'); print(s.recv(9))"`;

test.runIf(hasSandbox)(
  'a command that meets a masked socket is told so, and reaches it where the configuration names it (L55)',
  async () => {
    const socket = await listen();
    const refused = await run(connect(socket));
    expect(refused.isError).toBe(true);
    expect(lastLine(refused)).toContain(`(the sandbox hides the socket ${socket}: the user can let commands reach it`);
    const named = await run(`echo "cannot connect to unix://${socket}" >&2; exit 3`);
    expect(lastLine(named)).toContain(`hides the socket ${socket}`);
    expect(await run(connect(socket), { sockets: [socket] })).toEqual({ content: "b'hello\\n'" });
    expect((await run(`${connect(socket)} && false`, { sockets: [socket] })).content).not.toContain('sandbox');
  },
);

test.runIf(hasSandbox)(
  'a command that cannot write, or finds a place hidden, is told that it is the sandbox',
  async () => {
    const home = mkdtempSync(join(OUTSIDE, 'perdure-test-home-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const dataDir = join(home, 'data');
    mkdirSync(dataDir);
    const written = await run(`echo x > ${join(home, 'note')}`);
    expect(lastLine(written)).toMatch(/^\(in the sandbox commands write the workspace, .*, or ask the user\)$/);
    expect(lastLine(await run(`true; perl -e 'die "no"' ${join(dataDir, 'x')}`, { dataDir }))).toContain(
      'hides the folder',
    );
    expect(lastLine(await run('echo no /run/some/service >&2; (exit 2)'))).toContain('hides most of /run');
    expect(lastLine(await run('echo Failed to connect to bus: No medium found >&2; (exit 2)'))).toContain(
      'hides most of /run',
    );
    expect(await run('echo /run/some/service; sleep 0')).toEqual({ content: '/run/some/service' });
  },
);

test('a variable that a failed command misses is named where Perdure has it, without its value', async () => {
  vi.stubEnv('SOME_DEPLOY_TOKEN', 'canary');
  const sandbox = await probeSandbox({ kinds: ['group'], unconfined: true });
  const tool = createBashTool({ sandbox });
  const failed = async (command: string, env = {}) =>
    (await tool.call(inputFor(tool, { command }), toolContext(tempFolder(), { env }))).content;
  const told = await failed('echo SOME_DEPLOY_TOKEN is not set, nor OTHER_ABSENT_TOKEN; exit 3');
  expect(told).toContain('(set for Perdure and not passed on to commands: SOME_DEPLOY_TOKEN. ');
  expect(told).not.toContain('canary');
  expect(await failed('echo SOME_DEPLOY_TOKEN is not set')).not.toContain('not passed on');
  expect(await failed('echo SOME_DEPLOY_TOKEN; exit 3', { SOME_DEPLOY_TOKEN: 'x' })).not.toContain('not passed on');
});

test('commands that do more than read find the toolchains of the user, and no credentials', async () => {
  vi.stubEnv('VIRTUAL_ENV', '/opt/venv');
  vi.stubEnv('KUBECONFIG', '/opt/kube/staging');
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '/opt/key.json');
  const sandbox = await probeSandbox({ kinds: ['group'], unconfined: true });
  const tool = createBashTool({ sandbox });
  const shown = await tool.call(
    inputFor(tool, { command: 'true; bash -c \'echo "$VIRTUAL_ENV|$KUBECONFIG|$GOOGLE_APPLICATION_CREDENTIALS"\'' }),
    toolContext(tempFolder()),
  );
  expect(shown).toEqual({ content: '/opt/venv|/opt/kube/staging|' });
  const read = await tool.call(inputFor(tool, { command: 'printenv VIRTUAL_ENV' }), toolContext(tempFolder()));
  expect(read.content).not.toContain('/opt/venv');
});

test.runIf(hasSandbox && existsSync('/usr/bin/chromium'))(
  'a browser without a window finds a place for its profile',
  async () => {
    const home = mkdtempSync(join(OUTSIDE, 'perdure-test-home-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    vi.stubEnv('HOME', home);
    const { content } = await run(
      'chromium --headless --no-sandbox --disable-gpu --dump-dom "data:text/html,<p>hi" 2>/dev/null',
    );
    expect(content).toContain('<p>hi</p>');
  },
);
