// The client in a bundle with all that it needs, run where no package is installed: it works, and
// says what a bundle cannot have.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { cliPlace, modelFor } from '../support/cli.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type Done, projectAt, runProgram } from './empty-project.ts';

/** Without a top-level await, which CommonJS has not. */
const PROGRAM = `import { openServer, query } from 'perdure';
  const { TEMPORAL_ADDRESS, ...alone } = process.env;
  async function main() {
    const { sessions, close } = await openServer();
    const sent = await sessions.start('Go.', { cwd: '/', messageId: process.argv[2] });
    const { status, title } = await sessions.describe(sent.session);
    console.log(status, title, (await sessions.start('Again.', { messageId: process.argv[2] })).session === sent.session);
    await sessions.cancel(sent.session);
    await close();
    await query({ prompt: 'Go.', options: { env: alone } }).result().catch(({ name, message }) => console.log(name, message));
  }
  main();`;

type Bundle = (cwd: string, entry: string, out: string) => Promise<Done>;

/** As esbuild's documents have it for packages in CommonJS. */
const REQUIRE = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

const esbuild =
  (format: 'esm' | 'cjs', js = ''): Bundle =>
  (cwd, entry, out) => {
    const options = { entryPoints: [entry], outfile: out, bundle: true, platform: 'node', format, banner: { js } };
    const program = `require('esbuild').build(${JSON.stringify({ ...options, logLevel: 'error' })})`;
    return runProgram(process.execPath, ['-e', program], { cwd });
  };

const webpack: Bundle = (cwd, entry, out) => {
  const options = `{ mode: 'production', target: 'node20', entry: ${JSON.stringify(entry)}, optimization: { minimize: false },
    output: { path: ${JSON.stringify(join(out, '..'))}, filename: 'program.cjs' } }`;
  const program = `require('webpack')(${options}, (error, stats) => {
    const problems = error ? [error] : stats.toJson({ all: false, errors: true }).errors;
    for (const { message } of problems) console.error(message);
  });`;
  return runProgram(process.execPath, ['-e', program], { cwd });
};

test.each<[string, string, Bundle]>([
  ['esbuild, as an ES module', 'program.mjs', esbuild('esm', REQUIRE)],
  ['esbuild, as CommonJS', 'program.cjs', esbuild('cjs')],
  ['webpack', 'program.cjs', webpack],
])(
  'the client runs bundled by %s, and says in one sentence what a bundle cannot have (Q1)',
  async (_, name, bundle) => {
    const { folder: cwd, write } = projectAt(inject('npmProject'));
    const entry = write('bundled.mjs', PROGRAM);
    const out = join(tempDir(), 'alone', name);
    mkdirSync(join(out, '..'));
    expect(await bundle(cwd, entry, out)).toEqual({ status: 0, out: '', err: '' });
    expect(readFileSync(out, 'utf8')).not.toContain('bundleWorkflowCode');
    const { env } = cliPlace(await modelFor([]));
    const at = { cwd: join(out, '..'), env: { ...env, TEMPORAL_ADDRESS: inject('temporalAddress') } };
    const { status, out: said, err } = await runProgram(process.execPath, [out, `order-${name}-${Date.now()}`], at);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    const [first, second, ...rest] = said.trim().split('\n');
    expect([first, rest]).toEqual(['open Go. true', []]);
    expect(second).toMatch(
      /^SetupProblem perdure is bundled into this program, which cannot have a .* of its own: leave perdure out of/,
    );
  },
);
