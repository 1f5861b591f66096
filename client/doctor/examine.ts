// Looks at everything a session needs on this machine.
import { existsSync } from 'node:fs';
import { rgPath } from '@vscode/ripgrep';
import { probeSandbox } from '../../activities/tools/sandbox.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { type DataFolder, dataFolder, type Env } from '../../worker/embedded/data-folder.ts';
import { resolveConnection } from '../../worker/embedded/resolve-connection.ts';
import { reasonOf, SetupProblem } from '../../worker/embedded/setup-problem.ts';
import { isKeyless } from '../../worker/keyless.ts';
import { modelSettings } from '../../worker/model-access.ts';
import { type Check, missing, note, ok } from './check.ts';
import { embeddedChecks } from './embedded-checks.ts';
import { externalChecks } from './external-checks.ts';

const OLDEST_NODE = [20, 19] as const;

export async function examine(env: Env): Promise<readonly Check[]> {
  const folder = folderOf(env);
  return [
    node(process.versions.node),
    'check' in folder ? folder.check : ok('data folder', folder.root),
    ...(await server(env, 'check' in folder ? null : folder)),
    model(env),
    await sandbox(),
    existsSync(rgPath)
      ? ok('ripgrep', rgPath)
      : missing('ripgrep', 'the package @vscode/ripgrep has no binary for this system: npm ci'),
    existsSync(bundlePath())
      ? ok('build', 'the workflow is bundled')
      : missing('build', 'the workflow is not bundled: npm run build'),
  ];
}

function node(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  const fine = major > oldest || (major === oldest && minor >= oldestMinor);
  return fine ? ok('node', version) : missing('node', `${version}: ${OLDEST_NODE.join('.')} or newer is needed`);
}

function folderOf(env: Env): DataFolder | { readonly check: Check } {
  try {
    return dataFolder(env);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return { check: missing('data folder', error.message) };
  }
}

async function server(env: Env, folder: DataFolder | null): Promise<readonly Check[]> {
  try {
    const target = resolveConnection(env);
    if (target.kind === 'external') return await externalChecks(target);
    return folder === null ? [] : await embeddedChecks(env, folder);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missing('server', error.message)];
  }
}

function model(env: Env): Check {
  if (isKeyless(env))
    return note('model', 'scripted: set ANTHROPIC_API_KEY for a real one; until then only the demo task can be done');
  try {
    const { authToken, baseURL } = modelSettings(env);
    const key = env['ANTHROPIC_API_KEY']?.trim()
      ? 'ANTHROPIC_API_KEY is set'
      : authToken === null
        ? 'no key'
        : 'ANTHROPIC_AUTH_TOKEN is set';
    return ok('model', baseURL === undefined ? key : `${key}, at ${bareAddress(baseURL)}`);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return missing('model', error.message);
  }
}

/** Some servers want a key in the query. */
function bareAddress(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

async function sandbox(): Promise<Check> {
  try {
    const { kind, describe } = await probeSandbox();
    return kind === 'bwrap' ? ok('sandbox', describe) : note('sandbox', describe);
  } catch (error) {
    return missing('sandbox', reasonOf(error));
  }
}
